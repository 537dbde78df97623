// Explorer of attention tile by tile: the scores of one head, the tile at hand, and what is remembered after it.
import { button, element, fill, follow, guard, range, spokenRegion, tell } from "./parts.js";
import { onTheme } from "./attention_draw.js";
import { readFlash, walkTiles } from "./flash_data.js";
import { flashGrid, flashShape } from "./flash_grid.js";
import { flashRows } from "./flash_rows.js";
import { countTable, flashLegend } from "./flash_tables.js";
import { resultText, tileText } from "./flash_words.js";

const SETTINGS = ["step", "head", "block_q", "block_k", "window", "decode"];
const ROWS_WIDTH = 316; // pixels of what is remembered, beside the scores

/** A native slider with its name and number; `show(value, last, says)`. */
function flashSlider(name, first, pick, save) {
  const control = range(name, first, { input: pick, change: save });
  control.min = first;
  const output = element("b", { "aria-hidden": "true" });
  const show = (value, last, says = value) => {
    [control.max, control.value, output.textContent, control.disabled] = [last, value, says, last <= first];
    control.setAttribute("aria-valuetext", says);
  };
  return { place: element("label", { class: "tj-flash-slider" }, element("span", {}, name), control, output), control, show };
}

function render({ model, el }) {
  const [flash, words] = [readFlash(model), model.get("words")];
  const settings = () => Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));
  const state = settings();
  const [sentence, note, axes] = ["tj-flash-says", "tj-flash-result tj-quiet", "tj-quiet tj-flash-axes"].map((name) => element("p", { class: name }));
  const spoken = spokenRegion();
  let walk = null;

  const lay = () => {
    walk = walkTiles(flash, state);
    state.step = Math.min(state.step, walk.length - 1);
    for (const part of [grid, rows, legend]) part.lay(walk);
  };
  const show = () => {
    sentence.textContent = tileText(flash, words, walk, state.step);
    note.textContent = resultText(flash, words, state, walk, state.step);
    axes.textContent = fill(words.axes, { head: state.head });
    for (const part of [grid, rows]) part.show();
    table.show(walk, state.step);
    steps.show(state.step, walk.length - 1, `${state.step + 1} / ${walk.length}`);
    heads.show(state.head, flash.nHeads - 1);
    for (const [name, { show }] of Object.entries(sizes))
      show(state[name], flash.n, name === "window" && !state[name] ? words.none : state[name]);
    sizes.block_q.control.disabled ||= state.decode;
    use.checked = state.decode;
    [back.disabled, next.disabled] = [state.step === 0, state.step === walk.length - 1];
  };
  const pick = (change) => {
    const moved = Object.keys(change).filter((name) => state[name] !== change[name]);
    Object.assign(state, change);
    if (moved.some((name) => name !== "step")) lay();
    show();
  };
  const say = () => (spoken.textContent = `${sentence.textContent} ${note.textContent}`);
  const save = () => [tell(model, { ...state }), say()];
  const go = (by) => [pick({ step: Math.max(0, Math.min(walk.length - 1, state.step + by)) }), save()];

  const [grid, rows] = [flashGrid(flash, words, state, { pick, save }), flashRows(flash, words, state)];
  const [table, legend] = [countTable(flash, words), flashLegend(words)];
  const steps = flashSlider(words.tile, 0, (step) => pick({ step }), save);
  const heads = flashSlider(words.head, 0, (head) => pick({ head }), save);
  const sizes = Object.fromEntries([["block_q", 1], ["block_k", 1], ["window", 0]].map(([name, first]) =>
    [name, flashSlider(words[name], first, (value) => pick({ [name]: value }), save)]));
  const back = button("◀", () => go(-1), { "aria-label": words.back, title: words.back });
  const next = button("▶", () => go(1), { "aria-label": words.next, title: words.next });
  const use = guard(element("input", { type: "checkbox", change: () => [pick({ decode: use.checked }), save()] }));
  const controls = element("div", { class: "tj-flash-controls" }, element("span", {}, back, " ", next), steps.place, heads.place,
    ...Object.values(sizes).map(({ place }) => place), element("label", { class: "tj-flash-use" }, use, ` ${words.decode}`));
  const panes = element("div", { class: "tj-flash-panes" }, element("div", { class: "tj-flash-pane" }, axes, grid.place), rows.place);
  const root = element("div", { class: "tj tj-flash", role: "group", "aria-label": words.title }, controls, sentence, note, panes, legend.place, table.place,
    element("p", { class: "tj-quiet" }, model.get("caption")), spoken);
  el.replaceChildren(root);

  let room = 0;
  const resized = new ResizeObserver(() => {
    if (!root.clientWidth || root.clientWidth === room) return;
    room = root.clientWidth;
    const [full, left] = [flashShape(flash, room - 16), flashShape(flash, room - 16 - ROWS_WIDTH)];
    // below the grid, rather than beside one of half the size
    const beside = 2 * left.cell >= full.cell && left.width + ROWS_WIDTH <= room - 16;
    rows.paint(beside ? left : full, beside);
    grid.paint(beside ? left : full);
    rows.show();
    legend.recolour(); // the theme is known only once the root stands on the page
  });
  resized.observe(root);
  lay();
  show();
  const stopTheme = onTheme(legend.recolour);
  const stopFollowing = follow(model, SETTINGS, () => {
    const now = settings(); // all at once: a tile may be there only with the new sizes
    if (SETTINGS.every((name) => state[name] === now[name])) return;
    pick(now);
    say();
  });
  return () => [resized.disconnect(), grid.stop(), stopTheme(), stopFollowing()];
}

export default { render };
