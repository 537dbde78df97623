// Marks of the large map: cells on a canvas, labels, bars and rings in SVG.
import { put, sized, svg } from "./attention_draw.js";

/** Draw the large map: `rowOf(row)` are the weights of one row. */
export function paintMap(canvas, n, shape, rowOf, colours) {
  const context = sized(canvas, shape.left + shape.size, shape.top + shape.size);
  const line = shape.cell > 7 ? 1 : 0;
  for (let row = 0; row < n; row++)
    rowOf(row).forEach((weight, column) => {
      context.fillStyle = `rgb(${colours[Math.round(weight * 255)].join(" ")})`;
      const [x, y] = [shape.left + shape.along(column), shape.top + shape.along(row)];
      context.fillRect(x, y, shape.cell - line, shape.cell - line);
    });
}

/** Token labels on both sides of the large map; each carries its whole text as a tooltip. */
export function mapLabels(labels, shape, short) {
  const size = Math.max(9, Math.min(12, shape.cell));
  const label = (attributes, whole) => {
    const look = { "text-anchor": "end", style: `font-size: ${size}px`, class: "tj-att-token" };
    const made = svg("text", { ...look, ...attributes }, short(whole));
    made.append(svg("title", {}, whole));
    return made;
  };
  const middle = (index) => shape.along(index) + shape.cell / 2;
  const foot = shape.top + shape.size + 9;
  return {
    rows: labels.map((whole, i) => label({ x: shape.left - 6, y: shape.top + middle(i) + size / 3 }, whole)),
    columns: labels.map((whole, i) => {
      const x = shape.left + middle(i) + size / 3;
      return label({ x, y: foot, transform: `rotate(-50 ${x} ${foot})` }, whole);
    }),
  };
}

/** The frame of the large map (all that a move leaves in place) and the marks that a move changes. */
export function mapFrame(labels, shape, short, words) {
  const { left, top, size, cell, gap } = shape;
  const foot = top - 10;
  const text = (label, attributes) => svg("text", { class: "tj-att-tick", ...attributes }, label);
  const tokens = mapLabels(labels, shape, short);
  const bars = labels.map((_, i) => ({
    bar: svg("rect", { x: left + shape.along(i), width: cell > 7 ? cell - 1 : cell, class: "tj-att-bar" }),
    number: text("", { "text-anchor": cell < 30 ? "start" : "middle", class: "tj-att-number" }),
  }));
  const marks = {
    ...tokens, bars, title: text("", { x: left, y: 12, class: "tj-att-title" }),
    rest: svg("rect", { x: left + cell + 2, width: Math.max(0, gap - 5), class: "tj-att-rest" }),
    band: svg("rect", { x: left - 2, height: cell + 3, class: "tj-att-ring" }),
    cell: svg("rect", { width: cell + 1, height: cell + 1, class: "tj-att-ring" }),
    hover: svg("rect", { width: cell + 1, height: cell + 1, class: "tj-att-hover" }),
  };
  const middle = top + size / 2;
  const frame = svg("svg", { width: shape.width, height: shape.height, "aria-hidden": "true" });
  frame.append(
    svg("path", { d: `M${left} ${foot - shape.bar}h${size}M${left} ${foot}h${size}`, class: "tj-att-rule" }),
    text("1", { x: left - 6, y: foot - shape.bar + 4, "text-anchor": "end" }),
    text("0", { x: left - 6, y: foot + 1, "text-anchor": "end" }),
    text(words.from, { x: 10, y: middle, "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` }),
    text(words.to, { x: left + size / 2, y: shape.height - 5, "text-anchor": "middle" }),
    text(size - 2 * cell > 150 ? words.later : "", { x: left + size - 4, y: top + 16, "text-anchor": "end" }),
    ...tokens.rows, ...tokens.columns, ...bars.flatMap(({ bar, number }) => [bar, number]),
    text(gap ? "⋯" : "", { x: left + cell + gap / 2, y: foot + 7, "text-anchor": "middle" }),
    text(gap ? "⋮" : "", { x: left - 12, y: top + cell + gap / 2 + 3 }), marks.title, marks.rest, marks.hover, marks.band, marks.cell,
  );
  return { frame, marks, foot };
}

/** Show one row: its band in the map and its weights as bars over the columns; `hidden` weight lies in the gap. */
export function showRow({ marks, foot }, shape, row, weight, hidden, format) {
  put(marks.band, { y: shape.top + shape.along(row) - 2, width: shape.along(row) + shape.cell + 3 });
  put(marks.rest, { y: foot - hidden * shape.bar, height: hidden * shape.bar });
  marks.bars.forEach(({ bar, number }, i) => {
    const height = (weight[i] ?? 0) * shape.bar;
    put(bar, { y: foot - height, height });
    const [x, y] = [shape.left + shape.along(i) + shape.cell / 2 + (shape.cell < 30 ? 3 : 0), foot - height - 4];
    put(number, { x, y, transform: shape.cell < 30 ? `rotate(-90 ${x} ${y})` : "" });
    number.textContent = shape.cell > 9 && weight[i] >= 0.0005 ? format(weight[i]) : "";
  });
}
