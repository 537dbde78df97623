// What the tile explorer remembers of each row: maximum, total and mix so far, level with the rows of the scores.
import { element } from "./parts.js";
import { isolate, short } from "./attention_data.js";
import { put, svg } from "./attention_draw.js";
import { divided } from "./flash_data.js";
import { changes, factorText } from "./flash_words.js";

const STRIP = 116; // pixels of the mix's width

/** The mix as a curve: its d numbers from left to right, square roots of their size; `most` fills half the height. */
export function curve(mixed, most, height) {
  const middle = height / 2;
  const rise = (value) => Math.sign(value) * Math.sqrt(Math.abs(value) / (most || 1)) * (middle - 1);
  return Array.from(mixed, (value, i) =>
    `${i ? "L" : "M"}${((i + 0.5) * STRIP / mixed.length).toFixed(1)} ${(middle - rise(value)).toFixed(1)}`).join("");
}

/** The step whose result a row shows at `step`: its newest tile; -1 before its first. */
export function newestTile(walk, step, row) {
  const holds = ({ rows }) => rows[0] <= row && row < rows[1];
  for (let i = step; i >= 0; i--) if (holds(walk[i])) return i;
  return -1;
}

function rowCells(label) {
  const line = svg("path");
  const cells = [element("td"), element("td"), element("td")];
  const strip = svg("svg", { width: STRIP, class: "tj-flash-strip", "aria-hidden": "true" });
  const zero = svg("path", { class: "tj-flash-zero" });
  strip.append(zero, line);
  const head = element("th", { scope: "row" }, isolate(short(label, 10)));
  return { line, cells, strip, zero, place: element("tr", {}, head, ...cells, element("td", {}, strip)) };
}

/** The table; `lay(walk)` with new tiles, `paint(shape, beside)` with a new size, `show()` after either. */
export function flashRows(flash, words, state) {
  const rows = flash.labels.map(rowCells);
  const names = ["maximum", "factor", "total", "mix"].map((name) => element("th", { scope: "col" }, words[name]));
  const top = element("tr", {}, element("td", {}), ...names);
  const place = element("table", { class: "tj-flash-rows" }, element("thead", {}, top), element("tbody", {}, ...rows.map((row) => row.place)));
  let [walk, most, height, shown] = [null, [], 0, []];

  const lay = (tiles) => {
    [walk, shown, most] = [tiles, [], flash.labels.map(() => 0)];
    const largest = (mixed) => mixed.reduce((so, x) => Math.max(so, Math.abs(x)), 0);
    for (const { rows: its, states } of walk)
      states.forEach(({ mixed }, i) => (most[its[0] + i] = Math.max(most[its[0] + i], largest(mixed))));
    rows.forEach((row, i) => row.place.classList.toggle("tj-flash-absent", i < walk[0].rows[0]));
  };
  const paint = (shape, beside) => {
    [height, shown] = [shape.line - 4, []];
    place.classList.toggle("tj-flash-below", !beside);
    place.style.setProperty("--tj-line-height", `${shape.line}px`);
    for (const { strip, zero } of rows) [put(strip, { height }), put(zero, { d: `M0 ${height / 2}H${STRIP}` })];
  };
  const write = (row, index, newest) => {
    const [tile, { line, cells, place: its }] = [walk[newest], rows[row]];
    const state = tile?.states[row - tile.rows[0]];
    const past = tile?.complete && newest < index;
    const fared = tile && changes(tile)[row - tile.rows[0]];
    const number = (value) => (Number.isFinite(value) ? value.toFixed(2) : "");
    const factor = { first: words.first, larger: `× ${factorText(state?.factor ?? 1)}` }[fared] ?? "";
    const texts = !tile ? ["", "", ""] : past ? ["", words.done, ""]
      : [number(state.maximum), factor, `${tile.complete ? "÷ " : ""}${number(state.total)}`];
    cells.forEach((cell, i) => (cell.textContent = texts[i]));
    const now = newest >= 0 && walk[index].rows[0] <= row && row < walk[index].rows[1];
    its.className = [now ? "tj-flash-at" : "", tile?.complete ? "tj-flash-complete" : "", fared === "larger" && !past ? "tj-flash-larger" : "",
      row < walk[0].rows[0] ? "tj-flash-absent" : ""].join(" ");
    put(line, { d: state ? curve(tile.complete ? divided(state) : state.mixed, most[row], height) : "" });
  };
  const show = () => rows.forEach((_, row) => {
    const newest = row < walk[0].rows[0] ? -1 : newestTile(walk, state.step, row);
    const key = `${newest} ${newest >= 0 && newest < state.step && walk[newest].complete}`;
    if (shown[row] === key) return;
    shown[row] = key;
    write(row, state.step, newest);
  });
  return { place, lay, paint, show };
}
