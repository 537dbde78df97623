// The KV cache explorer's picture: a column for each token, a line for each block, bars of the selected block on top.
import { element, fill, guard } from "./parts.js";
import { clamp, columns, isolate, short, step } from "./attention_data.js";
import { put, svg } from "./attention_draw.js";
import { sharesAt, stateOf } from "./cache_data.js";

const [BAR, GAP] = [52, 4]; // pixels of the bars' height, of the space below them

/** Pixel places for a picture `room` pixels wide. */
export function cacheShape({ labels, nLayers }, room) {
  const n = labels.length;
  const longest = Math.max(...labels.map((label) => columns(short(label, 12))));
  const head = longest * 6.7 + 10;
  const [left, top] = [34, BAR + GAP];
  const cell = clamp(Math.floor((room - left - 6) / n), 9, 30);
  const line = clamp(Math.floor(360 / nLayers), 7, 24);
  const x = (column) => left + column * cell;
  const y = (block) => top + block * line;
  const at = (px, py) => [clamp(Math.floor((py - top) / line), 0, nLayers - 1), Math.floor((px - left) / cell)];
  return { left, top, cell, line, x, y, at, foot: y(nLayers), width: x(n) + 6, height: y(nLayers) + head };
}

function drawing(cache, shape, words) {
  const cells = Array.from({ length: cache.nLayers }, (_, block) => cache.labels.map((_, column) =>
    svg("rect", { x: shape.x(column) + 0.5, y: shape.y(block) + 0.5, width: shape.cell - 1, height: shape.line - 1 })));
  const bars = cache.labels.map((_, column) => svg("rect", { x: shape.x(column) + 1, width: shape.cell - 2, class: "tj-cache-bar" }));
  const heads = cache.labels.map((label, column) => {
    const [x, y] = [shape.x(column) + shape.cell / 2 + 4, shape.foot + 6];
    return svg("text", { transform: `translate(${x} ${y}) rotate(-90)`, "text-anchor": "end", class: "tj-cache-token" }, isolate(short(label, 12)));
  });
  const every = Math.max(1, Math.ceil(12 / shape.line));
  const sides = cells.map((_, block) => svg("text",
    { x: shape.left - 5, y: shape.y(block) + shape.line / 2 + 3.5, "text-anchor": "end", class: "tj-cache-side" }, block));
  sides.forEach((side, block) => (side.dataset.plain = block % every === 0));
  const rule = svg("path", { d: `M${shape.left} ${BAR}H${shape.width}`, class: "tj-cache-rule" });
  const ring = svg("rect", { class: "tj-cache-ring", width: shape.width - shape.left - 4, height: shape.line, x: shape.left - 1 });
  const note = svg("text", { x: shape.left, y: 10, class: "tj-cache-note" });
  const picture = svg("svg", { width: shape.width, height: shape.height, "aria-hidden": "true" });
  picture.append(rule, ...bars, ...cells.flat(), ...heads, ...sides, ring, note);
  return { cells, bars, heads, sides, ring, note, picture };
}

/** The grid: arrow keys and the pointer call `pick({ step, block })`, and `save()` when let go. */
export function cachePane(cache, words, state, { pick, save }) {
  const look = { class: "tj-cache-grid", tabindex: 0, role: "application", "aria-label": words.grid };
  const place = guard(element("div", look));
  let [shape, parts] = [null, null];
  place.addEventListener("keydown", (event) => {
    const to = step(event.key, event.ctrlKey || event.metaKey, [state.block, state.step], [cache.nLayers, cache.nSteps + 1]);
    if (!to) return;
    event.preventDefault();
    pick({ block: to[0], step: to[1] });
  });
  const under = (event) => {
    const corner = parts.picture.getBoundingClientRect();
    const [block, column] = shape.at(event.clientX - corner.left, event.clientY - corner.top);
    const position = cache.positions[column];
    pick(position >= cache.nPrompt ? { block, step: position - cache.nPrompt + 1 } : { block });
  };
  place.addEventListener("pointerdown", (event) => event.button === 0 && under(event));
  place.addEventListener("pointermove", (event) => event.buttons & 1 && event.pointerType === "mouse" && under(event));
  for (const end of ["keyup", "pointerup", "pointercancel", "blur"]) place.addEventListener(end, save);

  const show = () => {
    if (!parts) return;
    const states = cache.positions.map((position) => stateOf(cache, state, position));
    parts.cells.forEach((line, block) => {
      const shares = state.step ? sharesAt(cache, state.step, block) : null;
      line.forEach((cell, column) => {
        cell.setAttribute("class", `tj-cache-${states[column]}`);
        cell.style.fillOpacity = states[column] === "read" ? 0.16 + 0.84 * Math.sqrt(shares[column]) : "";
      });
    });
    parts.heads.forEach((head, column) => head.setAttribute("class", `tj-cache-token tj-cache-is-${states[column]}`));
    const bars = state.step ? sharesAt(cache, state.step, state.block) : null;
    parts.bars.forEach((bar, column) => {
      const height = bars ? bars[column] * (BAR - 14) : 0;
      put(bar, { y: BAR - height, height });
    });
    parts.sides.forEach((side, block) => {
      side.classList.toggle("tj-cache-on", block === state.block);
      side.style.display = block === state.block || side.dataset.plain === "true" ? "" : "none";
    });
    put(parts.ring, { y: shape.y(state.block) });
    parts.note.textContent = state.step ? fill(words.bars, { block: state.block }) : "";
  };
  const paint = (room) => {
    shape = cacheShape(cache, room);
    parts = drawing(cache, shape, words);
    place.replaceChildren(parts.picture);
    show();
  };
  return { place, show, paint };
}
