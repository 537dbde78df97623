// The two drawings of the attention explorer that take keys and pointer.
import { element, fill, guard } from "./parts.js";
import { mapShape, overviewShape, short, step, weights, written } from "./attention_data.js";
import { overviewLabels, paintOverview, put, select, svg } from "./attention_draw.js";
import { mapFrame, paintMap, showRow } from "./attention_map.js";
import { cellText, format, hiddenWeight, quote } from "./attention_words.js";

/** Keys and pointer on a grid of cells: `pick(cell)` at every step, `save()` when let go, `hover(cell or null, x, y)`. */
function cells(place, { now, extent, at, pick, save, hover }) {
  const under = (event) => {
    const box = place.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  place.addEventListener("keydown", (event) => {
    const cell = step(event.key, event.ctrlKey || event.metaKey, now(), extent());
    if (!cell) return;
    event.preventDefault();
    pick(cell);
  });
  place.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    place.setPointerCapture(event.pointerId);
    pick(at(...under(event)));
  });
  place.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) pick(at(...under(event)));
    hover(at(...under(event)), ...under(event));
  });
  place.addEventListener("pointerleave", () => hover(null));
  for (const end of ["keyup", "pointerup", "pointercancel", "blur"]) place.addEventListener(end, save);
  return guard(place);
}

/** A drawing that takes the focus: canvas below, SVG above, a note beside the pointer. */
function pane(label) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const tip = element("div", { class: "tj-att-tip", hidden: true });
  const look = { class: "tj-att-pane", tabindex: 0, role: "application", "aria-label": label };
  const place = element("div", look, canvas, tip);
  const say = (text, x, y) => {
    tip.hidden = text === null;
    tip.textContent = text ?? "";
    const [side, other] = x > place.clientWidth / 2 ? ["right", "left"] : ["left", "right"];
    const inset = side === "left" ? x : place.clientWidth - x;
    Object.assign(tip.style, { [side]: `${inset + 12}px`, [other]: "", top: `${y + 14}px` });
  };
  const frame = (made, { width, height }) => {
    place.querySelector("svg")?.remove();
    canvas.after(made);
    Object.assign(place.style, { width: `${width}px`, height: `${height}px` });
  };
  return { place, canvas, say, frame };
}

/** All maps: arrow keys and the pointer choose layer and head. */
export function overviewPane(seen, words, state, { pick, save }) {
  const shape = overviewShape(seen);
  const { place, canvas, say, frame } = pane(words.overview);
  const marks = overviewLabels(seen, shape, words);
  const [hover, ring] = ["tj-att-hover", "tj-att-ring"].map((name) =>
    svg("rect", { class: name, width: shape.side + 3, height: shape.side + 3 }));
  const drawing = svg("svg", { width: shape.width, height: shape.height, "aria-hidden": "true" });
  drawing.append(...marks.all, hover, ring);
  frame(drawing, shape);
  const around = ([layer, head]) => ({ x: shape.x(head) - 1.5, y: shape.y(layer) - 1.5 });
  cells(place, {
    now: () => [state.layer, state.head], extent: () => [seen.nLayers, seen.nHeads], at: shape.at, save,
    pick: ([layer, head]) => pick({ layer, head }),
    hover: (cell, x, y) => {
      put(hover, cell && around(cell));
      say(cell && fill(words.place, { layer: cell[0], head: cell[1] }), x, y);
    },
  });
  put(hover, null);
  return {
    place, width: shape.width,
    paint: (colours) => paintOverview(canvas, seen, shape, (map, row) => weights(seen, map, row), colours),
    show: () => {
      put(ring, around([state.layer, state.head]));
      select(marks.layers, state.layer, (layer) => written(layer, state.layer, shape.side + 2));
      select(marks.heads, state.head, (head) => written(head, state.head, shape.side - 2));
      select(marks.groups, Math.floor(state.head / shape.perGroup));
    },
  };
}

/** The selected head's map and its selected row as bars: arrow keys and the pointer choose row and column. */
export function mapPane(seen, words, state, { pick, save }) {
  const { place, canvas, say, frame } = pane(words.map);
  const map = () => state.layer * seen.nHeads + state.head;
  const rowOf = (row) => weights(seen, map(), row);
  let [shape, made, colours, painted] = [null, null, null, null];
  const inside = ([row, column]) => [row ?? state.row, column];
  const around = ([row, column]) => ({ x: shape.left + shape.along(column) - 1, y: shape.top + shape.along(row) - 1 });
  cells(place, {
    now: () => [state.row, state.column ?? state.row], extent: () => [seen.n, seen.n], at: (x, y) => shape.at(x, y), save,
    pick: (cell) => {
      const [row, column] = inside(cell);
      const same = state.column === null && column === state.row; // up or down moves the row alone
      pick({ row, column: column === null || same ? null : column });
    },
    hover: (cell, x, y) => {
      const [row, column] = cell ? inside(cell) : [0, null];
      const visible = column !== null && column <= row;
      put(made.marks.hover, visible ? around([row, column]) : null);
      say(visible ? cellText(seen, map(), row, column) : null, x, y);
    },
  });
  const show = () => {
    if (painted !== map()) paintMap(canvas, seen.n, shape, rowOf, colours);
    painted = map();
    showRow(made, shape, state.row, rowOf(state.row), hiddenWeight(seen, rowOf(state.row)), format);
    put(made.marks.cell, state.column === null ? null : around([state.row, state.column]));
    select(made.marks.rows, state.row, (row) => written(row, state.row, shape.cell));
    select(made.marks.columns, state.column, (column) => written(column, state.column ?? -9, shape.cell));
    made.marks.title.textContent = fill(words.bars, { from: quote(short(seen.labels[state.row])) });
  };
  return {
    place, show,
    paint: (newColours, room) => {
      [colours, shape, painted] = [newColours, mapShape(seen, room), null];
      made = mapFrame(seen.labels, shape, short, words);
      frame(made.frame, shape);
      put(made.marks.hover, null);
    },
  };
}
