// Beside the grid: the selected cell's likeliest tokens, and the course of the final answer's rank over depth.
import { element, fill } from "./parts.js";
import { isolate, short } from "./attention_data.js";
import { put, svg } from "./attention_draw.js";
import { quote } from "./attention_words.js";
import { cellAt, commas, courseOf, height, shareText } from "./lens_data.js";

const [PLOT_WIDTH, PLOT_HEIGHT, LEFT, TOP] = [240, 116, 44, 8]; // pixels of the drawing and of its plot's corner

/** One line of the list: rank, token, bar, probability. */
function listRow() {
  const [rank, label, share] = ["tj-lens-rank", "tj-lens-label tj-mono", "tj-lens-share"].map((name) => element("span", { class: name }));
  const bar = element("i");
  const place = element("div", { class: "tj-lens-row" }, rank, label, element("span", { class: "tj-lens-bar" }, bar), share);
  const show = (token, at) => {
    place.hidden = !token;
    if (!token) return;
    place.classList.toggle("tj-lens-is-answer", token.isAnswer);
    [rank.textContent, label.textContent, share.textContent] = [commas(at), isolate(token.label), shareText(token.share)];
    label.title = token.label;
    bar.style.width = `${100 * token.share}%`;
  };
  return { place, show };
}

/** The ten likeliest tokens of a cell, and the final answer below them where it is not among them. */
export function listPane(lens, words, state) {
  const rows = Array.from({ length: lens.k + 1 }, listRow);
  rows[lens.k].place.classList.add("tj-lens-far");
  const title = element("p", { class: "tj-lens-title" }, words.top);
  const show = () => {
    const { top, answer } = cellAt(lens, state.depth, state.column);
    top.forEach((token, i) => rows[i].show(token, i + 1));
    const far = top.some((token) => token.isAnswer) ? null : { ...answer, isAnswer: true };
    rows[lens.k].show(far, answer.rank);
  };
  return { place: element("div", { class: "tj-lens-list" }, title, ...rows.map((row) => row.place)), show };
}

/** Rank 1 on top, the end of the vocabulary at the foot; a mark at the selected depth. */
export function coursePane(lens, words, state) {
  const [right, foot] = [PLOT_WIDTH - LEFT - 8, PLOT_HEIGHT - TOP - 30];
  const x = (depth) => LEFT + (depth / Math.max(1, lens.nLayers)) * right;
  const y = (rank) => TOP + (1 - height(rank, lens.nVocab)) * foot;
  const tick = (text, attributes) => svg("text", { class: "tj-lens-tick", ...attributes }, text);
  const ranks = [1, 10, 100, 1000, 10000].filter((rank) => rank < lens.nVocab);
  const rules = ranks.map((rank) => svg("path", { d: `M${LEFT} ${y(rank)}h${right}`, class: "tj-lens-rule" }));
  const names = ranks.map((rank) => tick(commas(rank), { x: LEFT - 5, y: y(rank) + 3.5, "text-anchor": "end" }));
  const depths = [0, Math.round(lens.nLayers / 2), lens.nLayers].map((depth) =>
    tick(depth, { x: x(depth), y: TOP + foot + 13, "text-anchor": "middle" }));
  const axis = tick(words.depth, { x: LEFT + right / 2, y: PLOT_HEIGHT - 3, "text-anchor": "middle" });
  const line = svg("path", { class: "tj-lens-line" });
  const mark = svg("circle", { r: 4, class: "tj-lens-mark" });
  const drawing = svg("svg", { width: PLOT_WIDTH, height: PLOT_HEIGHT, "aria-hidden": "true" });
  drawing.append(...rules, ...names, ...depths, axis, line, mark);
  const title = element("p", { class: "tj-lens-title" });
  let [drawn, course] = [null, []];
  const show = () => {
    if (drawn !== state.column) {
      [drawn, course] = [state.column, courseOf(lens, state.column)];
      put(line, { d: course.map((rank, depth) => `${depth ? "L" : "M"}${x(depth)} ${y(rank)}`).join("") });
      title.textContent = fill(words.course, { answer: quote(short(cellAt(lens, 0, drawn).answer.label)) });
    }
    put(mark, { cx: x(state.depth), cy: y(course[state.depth]) });
  };
  return { place: element("div", { class: "tj-lens-course" }, title, drawing), show };
}
