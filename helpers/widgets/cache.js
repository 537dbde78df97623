// Explorer over a generation: which rows of keys and values each step computes and which it reads, and the work.
import { button, element, follow, guard, range, spokenRegion, tell } from "./parts.js";
import { clamp } from "./attention_data.js";
import { bytesKept, readCache, stepWork, workSoFar } from "./cache_data.js";
import { cachePane } from "./cache_grid.js";
import { countText, readText, stepText } from "./cache_words.js";

/** A native slider with its name and number. */
function slider(name, steps, pick, save) {
  const control = range(name, steps, { input: pick, change: save });
  const output = element("b", { "aria-hidden": "true" });
  control.disabled = steps < 1;
  const show = (value) => ([control.value, output.textContent] = [value, value]);
  return { place: element("label", { class: "tj-cache-slider" }, name, control, output), show };
}

/** The step with the cache and without, side by side. */
function workTable(cache, words, state) {
  const names = ["row_computed", "row_read", "row_now", "row_total", "row_bytes"];
  const heads = [words.with, words.without].map((name) => element("th", { scope: "col" }, name));
  const rows = names.map((name) => [element("th", { scope: "row" }, words[name]), element("td"), element("td")]);
  const lines = rows.map((cells) => element("tr", {}, ...cells));
  const place = element("table", { class: "tj-cache-table" },
    element("thead", {}, element("tr", {}, element("td"), ...heads)), element("tbody", {}, ...lines));
  const show = () => [true, false].forEach((cached, i) => {
    const { computed, read, multiplications } = stepWork(cache, state.step, cached);
    const values = [computed, read, multiplications, workSoFar(cache, state.step, cached), bytesKept(cache, state.step, cached)];
    const unit = [false, false, true, true, false];
    values.forEach((value, row) => {
      const cell = rows[row][i + 1];
      cell.textContent = unit[row] ? countText(words, value) : value.toLocaleString("en-US");
      cell.classList.toggle("tj-cache-on", cached === state.cached);
    });
    heads[i].classList.toggle("tj-cache-on", cached === state.cached);
  });
  return { place, show };
}

function legend(words) {
  const key = (kind) => element("i", { class: `tj-cache-key tj-cache-key-${kind}` });
  return element("p", { class: "tj-quiet" }, key("now"), words.computed, "\u2003", key("read"), words.read);
}

function render({ model, el }) {
  const [cache, words] = [readCache(model), model.get("words")];
  const state = { step: model.get("step"), block: model.get("block"), cached: model.get("cached") };
  const [sentence, note] = ["tj-cache-says", "tj-cache-reads tj-quiet"].map((name) => element("p", { class: name }));
  const spoken = spokenRegion();

  const show = () => {
    sentence.textContent = stepText(cache, words, state);
    note.textContent = readText(cache, words, state);
    for (const part of [grid, table]) part.show();
    steps.show(state.step);
    blocks.show(state.block);
    use.checked = state.cached;
    [back.disabled, next.disabled] = [state.step === 0, state.step === cache.nSteps];
  };
  const pick = (change) => [Object.assign(state, change), show()];
  const save = () => {
    tell(model, { ...state });
    spoken.textContent = `${sentence.textContent} ${note.textContent}`;
  };
  const go = (by) => [pick({ step: clamp(state.step + by, 0, cache.nSteps) }), save()];

  const grid = cachePane(cache, words, state, { pick, save });
  const table = workTable(cache, words, state);
  const steps = slider(words.step, cache.nSteps, (step) => pick({ step }), save);
  const blocks = slider(words.block, cache.nLayers - 1, (block) => pick({ block }), save);
  const back = button("◀", () => go(-1), { "aria-label": words.back, title: words.back });
  const next = button("▶", () => go(1), { "aria-label": words.next, title: words.next });
  const use = guard(element("input", { type: "checkbox", change: () => [pick({ cached: use.checked }), save()] }));
  const controls = element("div", { class: "tj-cache-controls" }, element("span", {}, back, " ", next), steps.place, blocks.place,
    element("label", { class: "tj-cache-use" }, use, ` ${words.use}`));
  const root = element("div", { class: "tj tj-cache" }, controls, sentence, note, grid.place, legend(words),
    table.place, element("p", { class: "tj-quiet" }, model.get("caption")), spoken);
  el.replaceChildren(root);

  let room = 0;
  const resized = new ResizeObserver(() => {
    if (!root.clientWidth || root.clientWidth === room) return;
    room = root.clientWidth;
    grid.paint(room - 16);
  });
  resized.observe(root);
  show();
  const stopFollowing = follow(model, ["step", "block", "cached"], (name, value) => {
    if (state[name] === value) return;
    pick({ [name]: value });
    spoken.textContent = `${sentence.textContent} ${note.textContent}`;
  });
  return () => [resized.disconnect(), stopFollowing()];
}

export default { render };
