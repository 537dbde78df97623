// Explorer over the logit lens: a grid of guesses, the distribution of one cell, the way of the final answer.
import { element, follow, guard, spokenRegion, tell } from "./parts.js";
import { ramp } from "./attention_data.js";
import { isDark, onTheme } from "./attention_draw.js";
import { readLens } from "./lens_data.js";
import { gridPane } from "./lens_grid.js";
import { coursePane, listPane } from "./lens_panel.js";
import { lensText } from "./lens_words.js";

/** Two radio buttons that choose what the cells show; `choose(mode)` at a change. */
function modeChoice(words, choose) {
  // Radio buttons of one name belong together, and each explorer may have its own copy of this module: no counter.
  const name = `tj-lens-mode-${Math.random().toString(36).slice(2)}`;
  const controls = Object.fromEntries(["guess", "answer"].map((mode) =>
    [mode, guard(element("input", { type: "radio", name, value: mode, change: () => choose(mode) }))]));
  const labels = Object.entries(controls).map(([mode, control]) => element("label", {}, control, ` ${words[mode]}`));
  const place = element("div", { class: "tj-lens-modes", role: "radiogroup", "aria-label": words.mode }, `${words.mode} `, ...labels);
  return { place, show: (mode) => (controls[mode].checked = true) };
}

function render({ model, el }) {
  const [lens, words] = [readLens(model), model.get("words")];
  const column = (position) => lens.positions.indexOf(position);
  const state = { depth: model.get("depth"), column: column(model.get("position")), mode: model.get("mode") };
  const sentence = element("p", { class: "tj-lens-says" });
  const note = element("p", { class: "tj-quiet" });
  const spoken = spokenRegion();
  let colours = ramp(false);

  const show = () => {
    sentence.textContent = lensText(lens, words, state);
    for (const part of [grid, list, course]) part.show();
  };
  const paint = () => {
    modes.show(state.mode);
    note.textContent = `${words[`scale_${state.mode}`]} ${model.get("caption")}`;
    grid.paint(colours);
  };
  const pick = (change) => [Object.assign(state, change), show()];
  const save = () => {
    tell(model, { depth: state.depth, position: lens.positions[state.column], mode: state.mode });
    spoken.textContent = lensText(lens, words, state);
  };
  const choose = (mode) => [Object.assign(state, { mode }), paint(), save()];

  const modes = modeChoice(words, choose);
  const grid = gridPane(lens, words, state, { pick, save });
  const list = listPane(lens, words, state);
  const course = coursePane(lens, words, state);
  const side = element("div", { class: "tj-lens-beside" }, list.place, course.place);
  const root = element("div", { class: "tj tj-lens" }, modes.place, sentence,
    element("div", { class: "tj-lens-panes" }, grid.place, side), note, spoken);
  el.replaceChildren(root);

  let dark = null;
  const repaint = () => {
    if (!root.clientWidth) return;
    if (isDark(root) !== dark) {
      [dark, colours] = [isDark(root), ramp(isDark(root))];
      paint();
    }
    show();
  };
  const resized = new ResizeObserver(repaint);
  resized.observe(root);
  const stopTheme = onTheme(repaint);
  const stopFollowing = follow(model, ["depth", "position", "mode"], (name, value) => {
    const change = name === "position" ? { column: column(value) } : { [name]: value };
    const [key, wanted] = Object.entries(change)[0];
    if (state[key] === wanted) return;
    Object.assign(state, change);
    paint();
    show();
    spoken.textContent = lensText(lens, words, state);
  });
  return () => [resized.disconnect(), stopTheme(), stopFollowing()];
}

export default { render };
