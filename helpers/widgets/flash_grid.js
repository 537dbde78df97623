// The tile explorer's picture of the scores: a row for each query, a column for each key, borders around the tiles.
import { element, guard } from "./parts.js";
import { clamp, columns, isolate, ramp, short, written } from "./attention_data.js";
import { isDark, onTheme, put, svg } from "./attention_draw.js";
import { inkOn } from "./lens_data.js";
import { maySee, scoreRange, span, stepBy } from "./flash_data.js";
import { scoreText } from "./flash_words.js";

const PAST = 0.3; // how much of its colour a forgotten tile keeps

/** Pixel places for a picture at most `room` pixels wide; `at` leads from a place to [row, column]. */
export function flashShape({ labels, n }, room) {
  const longest = Math.max(...labels.map((label) => columns(short(label, 12))));
  const left = clamp(longest * 6.7 + 12, 40, 100);
  const cell = clamp(Math.floor((room - left - 4) / n), 7, 36);
  const line = clamp(cell, 15, 26);
  const [x, y] = [(column) => left + column * cell, (row) => 1 + row * line];
  const at = (px, py) => [Math.floor((py - 1) / line), Math.floor((px - left) / cell)].map((place) => clamp(place, 0, n - 1));
  return { left, cell, line, x, y, at, width: x(n) + 2, height: y(n) + longest * 6.7 + 12 };
}

const box = ({ x, y }, [top, bottom], [left, right]) => ({ x: x(left), y: y(top), width: x(right) - x(left), height: y(bottom) - y(top) });
const outline = ({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`;

/** What stays while the tiles change: cells, labels, empty marks to be filled. */
function flashMarks({ labels, n }, shape) {
  const all = span([0, n]);
  const cells = all.map((row) => all.map((column) => svg("rect", { ...box(shape, [row, row + 1], [column, column + 1]), class: "tj-flash-cell" })));
  const token = (label, place) => svg("text", { ...place, "text-anchor": "end", class: "tj-flash-token" }, isolate(short(label, 12)));
  const sides = labels.map((label, row) => token(label, { x: shape.left - 6, y: shape.y(row) + shape.line / 2 + 4 }));
  const feet = labels.map((label, column) => token(label,
    { transform: `translate(${shape.x(column) + shape.cell / 2 + 4} ${shape.y(n) + 6}) rotate(-90)` }));
  const path = (name) => svg("path", { class: `tj-flash-${name}` });
  const [hidden, skipped, lines, ring] = ["hidden", "skipped", "lines", "ring"].map(path);
  const [words, numbers] = [svg("g", { class: "tj-flash-words" }), svg("g", { class: "tj-flash-numbers" })];
  const picture = svg("svg", { width: shape.width, height: shape.height, "aria-hidden": "true" });
  picture.append(skipped, ...cells.flat(), hidden, lines, words, numbers, ring, ...sides, ...feet);
  return { cells, sides, feet, hidden, skipped, lines, ring, words, numbers, picture };
}

/** Borders, hidden cells and skipped tiles: what follows from the settings alone. */
function layTiles(marks, shape, words, walk, { window }) {
  const places = walk.map(({ rows, columns: its }) => box(shape, rows, its));
  const isSkipped = (_, i) => walk[i].kind === "skipped";
  put(marks.lines, { d: places.map(outline).join("") });
  put(marks.skipped, { d: places.filter(isSkipped).map(outline).join("") });
  const slashes = walk.filter(({ kind }) => kind === "partly").flatMap(({ rows, columns: its }) => span(rows).flatMap((row) =>
    span(its).filter((column) => !maySee(window, row, column)).map((column) =>
      `M${shape.x(column)} ${shape.y(row + 1)}l${shape.cell} ${-shape.line}`)));
  put(marks.hidden, { d: slashes.join("") });
  const fits = ({ width, height }) => width > columns(words.skipped) * 6 + 4 && height >= 14;
  marks.words.replaceChildren(...places.filter(isSkipped).filter(fits).map(({ x, y, width, height }) =>
    svg("text", { x: x + width / 2, y: y + height / 2 + 3.5, "text-anchor": "middle" }, words.skipped)));
}

/** The cells' colours, from a scale that one head keeps; numbers in the tile at hand where there is room. */
function paintCells(marks, shape, walk, step, { colours, low, high, painted }) {
  const colour = (score) => colours[Math.round(high > low ? (255 * (score - low)) / (high - low) : 255)];
  const numbers = [];
  walk.forEach(({ rows, columns: its, scores }, index) => {
    const kind = index > step || !scores ? "blank" : index < step ? "past" : "now";
    if (painted[index] === kind && kind !== "now") return;
    painted[index] = kind;
    span(rows).forEach((row, i) => span(its).forEach((column, j) => {
      const [cell, score] = [marks.cells[row][column], scores?.[i][j] ?? -Infinity];
      const shown = kind !== "blank" && score > -Infinity;
      cell.style.fill = shown ? `rgb(${colour(score).map(Math.round).join(" ")} / ${kind === "past" ? PAST : 1})` : "";
      if (kind === "now" && shown && shape.cell >= 30) numbers.push(svg("text", { x: shape.x(column) + shape.cell / 2,
        y: shape.y(row) + shape.line / 2 + 3.5, "text-anchor": "middle", fill: inkOn(colour(score)) }, scoreText(score)));
    }));
  });
  marks.numbers.replaceChildren(...numbers);
}

/** The grid: arrow keys and the pointer call `pick({ step })`, and `save()` when let go. */
export function flashGrid(flash, words, state, { pick, save }) {
  const place = guard(element("div", { class: "tj-flash-grid", tabindex: 0, role: "application", "aria-label": words.grid }));
  let [shape, marks, walk, scale, colours] = [null, null, null, null, null];
  place.addEventListener("keydown", (event) => {
    const to = stepBy(event.key, walk, state.step);
    if (to === null) return;
    event.preventDefault();
    pick({ step: to });
  });
  const under = (event) => {
    const corner = marks.picture.getBoundingClientRect();
    const [row, column] = shape.at(event.clientX - corner.left, event.clientY - corner.top);
    const holds = ([from, to], place) => from <= place && place < to;
    const step = walk.findIndex(({ rows, columns: its }) => holds(rows, state.decode ? flash.n - 1 : row) && holds(its, column));
    pick({ step });
  };
  place.addEventListener("pointerdown", (event) => event.button === 0 && under(event));
  place.addEventListener("pointermove", (event) => event.buttons & 1 && event.pointerType === "mouse" && under(event));
  for (const end of ["keyup", "pointerup", "pointercancel", "blur"]) place.addEventListener(end, save);

  /** New tiles: `show` must follow. */
  const lay = (tiles) => {
    walk = tiles;
    if (!marks) return;
    const [low, high] = scoreRange(walk);
    scale = { colours, low, high, painted: [] };
    for (const cell of marks.cells.slice(0, walk[0].rows[0]).flat()) cell.style.fill = ""; // no query there
    layTiles(marks, shape, words, walk, state);
  };
  const show = () => {
    if (!marks) return;
    const { rows, columns: its } = walk[state.step];
    paintCells(marks, shape, walk, state.step, scale);
    put(marks.ring, { d: outline(box(shape, rows, its)) });
    marks.sides.forEach((side, row) => side.classList.toggle("tj-flash-on", rows[0] <= row && row < rows[1]));
    marks.feet.forEach((foot, column) => {
      foot.classList.toggle("tj-flash-on", its[0] <= column && column < its[1]);
      foot.style.display = written(column, its[0], shape.cell) ? "" : "none";
    });
  };
  const paint = (to) => {
    shape = to;
    marks = flashMarks(flash, shape);
    place.replaceChildren(marks.picture);
    recolour();
  };
  const recolour = () => {
    if (!marks) return;
    colours = ramp(isDark(place));
    lay(walk);
    show();
  };
  return { place, lay, show, paint, stop: onTheme(recolour) };
}
