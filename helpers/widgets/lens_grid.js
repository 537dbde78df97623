// The lens explorer's grid: a column for each position, a row for each number of blocks done.
import { element, guard } from "./parts.js";
import { clamp, isolate, step } from "./attention_data.js";
import { cellAt, commas, inkOn, strength } from "./lens_data.js";

/** What a cell shows: the likeliest token, or the rank of the final answer. */
function cellLabel(mode, { top, answer }) {
  return mode === "guess" ? isolate(top[0].label) : commas(answer.rank);
}

/** Rows of cells under a head of tokens; `cells[depth][column]`, `heads[column]`, `sides[depth]`. */
function cellTable(lens, words) {
  const heads = lens.tokens.map((token) => element("span", { class: "tj-lens-token", title: token }, isolate(token)));
  const make = (depth) => lens.tokens.map((_, column) =>
    element("span", { class: "tj-lens-cell", "data-depth": depth, "data-column": column }));
  const cells = Array.from({ length: lens.nLayers + 1 }, (_, depth) => make(depth));
  const sides = cells.map((_, depth) => element("span", { class: "tj-lens-side" }, depth));
  const corner = element("span", { class: "tj-lens-side tj-lens-corner" }, words.depth);
  const n = lens.tokens.length;
  const columns = `grid-template-columns: 40px repeat(${n}, minmax(46px, 1fr)); max-width: ${40 + 80 * n}px`;
  const table = element("div", { class: "tj-lens-table", style: columns, "aria-hidden": "true" }, corner, ...heads);
  cells.forEach((row, depth) => table.append(sides[depth], ...row));
  return { table, heads, sides, cells };
}

/** The grid: arrow keys and the pointer call `pick({ depth, column })`, and `save()` when let go. */
export function gridPane(lens, words, state, { pick, save }) {
  const { table, heads, sides, cells } = cellTable(lens, words);
  const look = { class: "tj-lens-grid", tabindex: 0, role: "application", "aria-label": words.grid };
  const place = guard(element("div", look, table));
  place.addEventListener("keydown", (event) => {
    const to = step(event.key, event.ctrlKey || event.metaKey, [state.depth, state.column], [cells.length, heads.length]);
    if (!to) return;
    event.preventDefault();
    pick({ depth: to[0], column: to[1] });
  });
  const under = (event) => {
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".tj-lens-cell");
    if (cell && place.contains(cell)) pick({ depth: Number(cell.dataset.depth), column: Number(cell.dataset.column) });
  };
  place.addEventListener("pointerdown", (event) => event.button === 0 && under(event));
  place.addEventListener("pointermove", (event) => event.buttons & 1 && event.pointerType === "mouse" && under(event));
  for (const end of ["keyup", "pointerup", "pointercancel", "blur"]) place.addEventListener(end, save);

  let marked = [];
  /** Bring the selected column into view, sideways only: the page itself must not jump. */
  const reveal = () => {
    const [cell, side] = [cells[state.depth][state.column], sides[0].offsetWidth];
    const right = cell.offsetLeft + cell.offsetWidth - place.clientWidth;
    place.scrollLeft = clamp(place.scrollLeft, right, Math.max(right, cell.offsetLeft - side));
  };
  const show = () => {
    marked.forEach((part) => part.classList.remove("tj-lens-on"));
    marked = [cells[state.depth][state.column], heads[state.column], sides[state.depth]];
    marked.forEach((part) => part.classList.add("tj-lens-on"));
    reveal();
  };
  const paint = (colours) => {
    cells.forEach((row, depth) => row.forEach((cell, column) => {
      const read = cellAt(lens, depth, column);
      const ground = colours[Math.round(255 * strength(lens, state.mode, depth, column))];
      cell.textContent = cellLabel(state.mode, read);
      cell.style.background = `rgb(${ground.map(Math.round).join(" ")})`;
      cell.style.color = inkOn(ground);
      cell.classList.toggle("tj-lens-final", read.top[0].isAnswer);
    }));
  };
  return { place, show, paint };
}
