// What both drawings of the attention explorer are made of, and the overview: canvas for cells, SVG for the rest.

/** An SVG element with attributes and, where given, a text (never read as HTML). */
export function svg(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

/** Is the page dark? Told by the colour of its text, so every front end is understood. */
export function isDark(place) {
  const [r, g, b] = (getComputedStyle(place).color.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 128;
}

/** Size a canvas in page pixels at the screen's own resolution; returns its context. */
export function sized(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return context;
}

/** One map as n × n pixels; what the mask hides stays transparent. */
function pixels(n, rowOf, colours) {
  const image = new ImageData(n, n);
  for (let row = 0; row < n; row++)
    rowOf(row).forEach((weight, column) => {
      image.data.set([...colours[Math.round(weight * 255)], 255], 4 * (row * n + column));
    });
  return image;
}

/** Draw all maps: `rowOf(map, row)` are the weights of one row. */
export function paintOverview(canvas, { n, nLayers, nHeads }, shape, rowOf, colours) {
  const context = sized(canvas, shape.width, shape.height);
  const small = new OffscreenCanvas(n, n);
  // Several cells to a screen pixel are averaged; few cells keep their edges.
  context.imageSmoothingEnabled = shape.side * (window.devicePixelRatio || 1) < 2 * n;
  context.imageSmoothingQuality = "high";
  for (let map = 0; map < nLayers * nHeads; map++) {
    small.getContext("2d").putImageData(pixels(n, (row) => rowOf(map, row), colours), 0, 0);
    context.drawImage(small, shape.x(map % nHeads), shape.y(Math.floor(map / nHeads)), shape.side, shape.side);
  }
}

/** Numbers of layers and heads around the overview, and a bracket over the heads of each KV head. */
export function overviewLabels({ nLayers, nHeads, nKv }, shape, words) {
  const marks = { layers: [], heads: [], groups: [], all: [] };
  const text = (x, y, label, anchor) => svg("text", { x, y, "text-anchor": anchor, class: "tj-att-tick" }, label);
  for (let layer = 0; layer < nLayers; layer++)
    marks.layers.push(text(shape.x(0) - 5, shape.y(layer) + shape.side / 2 + 3.5, layer, "end"));
  for (let head = 0; head < nHeads; head++)
    marks.heads.push(text(shape.x(head) + shape.side / 2, shape.y(0) - 5, head, "middle"));
  for (let kv = 0; shape.perGroup > 1 && kv < nKv; kv++) {
    const [from, to] = [shape.x(kv * shape.perGroup), shape.x((kv + 1) * shape.perGroup - 1) + shape.side];
    marks.all.push(svg("path", { d: `M${from} 18v-3H${to}v3`, class: "tj-att-bracket" }));
    const name = to - from > 34 ? `${words.kv} ${kv}` : kv;
    marks.groups.push(text((from + to) / 2, 11, name, "middle"));
  }
  marks.all.push(text(shape.x(0) - 5, shape.y(0) - 5, words.layer, "end"), ...marks.layers, ...marks.heads, ...marks.groups);
  return marks;
}

/** Call `repaint` when the page's theme changes; returns the function that stops it. */
export function onTheme(repaint) {
  // JupyterLab hides the page for a frame while it changes the theme; nothing can be measured before it is back.
  const later = () => requestAnimationFrame(() => requestAnimationFrame(repaint));
  const attributes = new MutationObserver(later);
  for (const place of [document.documentElement, document.body])
    attributes.observe(place, { attributeFilter: ["class", "data-jp-theme-name", "data-theme"] });
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", later);
  return () => {
    attributes.disconnect();
    system.removeEventListener("change", later);
  };
}

/** Make the selected label stand out; `visible(index)` says which others are written. */
export function select(labels, selected, visible = () => true) {
  labels.forEach((label, i) => {
    label.classList.toggle("tj-att-on", i === selected);
    label.style.display = visible(i) ? "" : "none";
  });
}

/** Move an SVG mark; null hides it. */
export function put(mark, attributes) {
  mark.style.display = attributes ? "" : "none";
  for (const [name, value] of Object.entries(attributes ?? {})) mark.setAttribute(name, value);
}
