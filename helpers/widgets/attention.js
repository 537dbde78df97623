// Explorer over the attention pattern of every layer and head: an overview, one large map, one row as bars.
import { button, element, fill, follow, range, spokenRegion, tell } from "./parts.js";
import { clamp, ramp, readModel, strongest } from "./attention_data.js";
import { isDark, onTheme } from "./attention_draw.js";
import { mapPane, overviewPane } from "./attention_panes.js";
import { cellText, format, headText, rowText } from "./attention_words.js";

/** A native slider with its name and number; `pick(value)` at every step, `save()` when let go. */
function slider(name, count, pick, save) {
  const control = range(name, count - 1, { input: pick, change: save });
  const output = element("b", { "aria-hidden": "true" });
  const show = (value) => ([control.value, output.textContent] = [value, value]);
  control.disabled = count < 2;
  return { place: element("label", { class: "tj-att-slider" }, name, control, output), show };
}

/** Buttons that lead to the head with the largest mean weight of each kind. */
function findButtons(seen, words, go) {
  if (seen.n < 2) return { places: [], show: () => {} };
  const places = Object.entries(strongest(seen)).map(([kind, { map, mean }]) => {
    const [layer, head] = [Math.floor(map / seen.nHeads), map % seen.nHeads];
    const label = `${words[kind]} ${format(mean)}`;
    const name = fill(words.find, { label, layer, head });
    return [map, button(label, () => go({ layer, head }), { "aria-label": name, title: name })];
  });
  const show = (selected) => places.forEach(([map, place]) => place.setAttribute("aria-pressed", map === selected));
  return { places: places.map(([, place]) => place), show };
}

/** The colour scale and where the numbers come from. */
function legend(seen, words, caption) {
  const scale = element("span", { class: "tj-att-scale", "aria-hidden": "true" });
  const paint = (colours) => {
    const stops = colours.filter((_, i) => i % 15 === 0).map((c) => `rgb(${c.map(Math.round).join(" ")})`);
    scale.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  };
  const key = element("span", { class: "tj-att-key" }, "0 ", scale, " 1");
  return { place: element("p", { class: "tj-quiet" }, key, ` ${words.scale} ${caption}`), paint };
}

function render({ model, el }) {
  const [seen, words] = [readModel(model), model.get("words")];
  const shown = (position) => seen.positions.indexOf(position);
  const state = { layer: model.get("layer"), head: model.get("head"), row: shown(model.get("row")), column: null };
  const [sentence, note] = ["tj-att-row", "tj-att-head tj-quiet"].map((name) => element("p", { class: name }));
  const spoken = spokenRegion();
  spoken.classList.add("tj-att-spoken");

  const map = () => state.layer * seen.nHeads + state.head;
  const say = () => {
    const cell = state.column === null ? "" : `${cellText(seen, map(), state.row, state.column)}. `;
    spoken.textContent = cell + rowText(seen, words, state);
  };
  const show = () => {
    sentence.textContent = rowText(seen, words, state);
    note.textContent = headText(seen, words, state);
    for (const part of [overview, large]) part.show();
    layers.show(state.layer);
    heads.show(state.head);
    finds.show(map());
  };
  const pick = (change) => {
    Object.assign(state, change);
    if (state.column !== null) state.column = clamp(state.column, 0, state.row);
    show();
  };
  const save = () => {
    tell(model, { layer: state.layer, head: state.head, row: seen.positions[state.row] });
    say();
  };
  const go = (change) => [pick(change), save()];

  const overview = overviewPane(seen, words, state, { pick, save });
  const large = mapPane(seen, words, state, { pick, save });
  const layers = slider(words.layer, seen.nLayers, (layer) => pick({ layer }), save);
  const heads = slider(words.head, seen.nHeads, (head) => pick({ head }), save);
  const finds = findButtons(seen, words, go);
  const scale = legend(seen, words, model.get("caption"));
  const group = { class: "tj-att-finds", role: "group", "aria-label": words.strongest };
  const found = element("div", group, words.strongest, ...finds.places);
  const root = element("div", { class: "tj tj-att" },
    element("div", { class: "tj-att-controls" }, layers.place, heads.place, ...(seen.n > 1 ? [found] : [])),
    sentence, note, element("div", { class: "tj-att-panes" }, overview.place, large.place), scale.place, spoken);
  el.replaceChildren(root);

  let [room, dark] = [0, null];
  const paint = () => {
    const width = root.clientWidth - overview.width - 36;
    const newRoom = width < 300 ? root.clientWidth - 8 : width;
    if (!root.clientWidth || (newRoom === room && isDark(root) === dark)) return;
    [room, dark] = [newRoom, isDark(root)];
    const colours = ramp(dark);
    for (const part of [overview, large, scale]) part.paint(colours, room);
    show();
  };
  const resized = new ResizeObserver(paint);
  resized.observe(root);
  const stopTheme = onTheme(paint);
  const stopFollowing = follow(model, ["layer", "head", "row"], (name, value) => {
    const index = name === "row" ? shown(value) : value;
    if (state[name] !== index) [pick({ [name]: index }), say()];
  });
  return () => [resized.disconnect(), stopTheme(), stopFollowing()];
}

export default { render };
