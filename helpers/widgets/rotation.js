// The rotation explorer: one query and one key, turned pair by pair by position times frequency.
import { button, element, fill, follow, range, spokenRegion, tell } from "./parts.js";
import { isolate, short } from "./attention_data.js";
import { byDistance, mostOfPairs, pairParts, readRotation, selected, strongestPair, total, turned } from "./rotation_math.js";
import { clocks, curve, dial } from "./rotation_draw.js";

const STATE = ["query", "key", "m", "n", "shift", "head", "pair"];

function render({ model, el }) {
  const [seen, words] = [readRotation(model), model.get("words")];
  const state = Object.fromEntries(STATE.map((name) => [name, model.get(name)]));
  const spoken = spokenRegion();
  const summary = element("p", { class: "tj-summary", "aria-hidden": "true" });
  const parts = () => pairParts(seen, vectors, state.m + state.shift, state.n + state.shift);
  let vectors = null, most = 1, drawn = "";

  /** What changes only with tokens, head and pair: vectors, scale of the bars, curve. */
  function prepare() {
    const now = [state.query, state.key, state.head, state.pair].join();
    if (now === drawn) return;
    drawn = now;
    vectors = selected(seen, { ...state, query: seen.positions.indexOf(state.query), key: seen.positions.indexOf(state.key) });
    most = Math.max(...mostOfPairs(seen, vectors)) || 1;
    line.draw(byDistance(seen, vectors, state.pair));
    names.one.textContent = fill(words.one, { pair: state.pair });
  }

  function hands(pairs, position) {
    return Array.from(seen.frequencies, (frequency, i) => {
      const long = Math.hypot(pairs.x[i], pairs.y[i]) || 1;
      return turned(pairs.x[i] / long, pairs.y[i] / long, position * frequency);
    });
  }

  function show() {
    prepare();
    const [m, n, all] = [state.m + state.shift, state.n + state.shift, parts()];
    const { q, k } = vectors;
    const [pair, frequency] = [state.pair, seen.frequencies[state.pair]];
    big.show(pair, frequency, {
      query: { x: q.x[pair], y: q.y[pair], angle: m * frequency }, key: { x: k.x[pair], y: k.y[pair], angle: n * frequency },
    });
    small.show({ query: hands(q, m), key: hands(k, n) }, all, most, pair);
    line.show(m - n, total(all));
    for (const [name, { control, output }] of Object.entries(sliders)) {
      control.value = state[name];
      output.textContent = control.ariaValueText = state[name].toLocaleString("en");
    }
    for (const name of ["query", "key"]) choices[name].value = state[name];
    summary.textContent = result(all);
  }

  function result(all) {
    const signed = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(3);
    const values = { score: signed(total(all)), distance: String(state.m - state.n).replace("-", "−") };
    return fill(words.result, { ...values, pair: state.pair, part: signed(all[state.pair]) });
  }

  const pick = (change) => [Object.assign(state, change), show()];
  const save = () => {
    tell(model, state);
    spoken.textContent = result(parts());
  };
  const go = (change) => [pick(change), save()];

  function slider(name, label, last) {
    const control = range(label, last, { input: (value) => pick({ [name]: value }), change: save });
    control.disabled = last < 1;
    const output = element("b", { "aria-hidden": "true" });
    const place = element("label", { class: `tj-rot-slider tj-rot-of-${name}`, "data-name": name }, element("span", {}, label), control, output);
    return { place, control, output };
  }

  function choice(name, label, position) {
    const options = seen.positions.map((place, i) =>
      element("option", { value: place }, `${place} ${isolate(short(seen.labels[i], 20))}`));
    const change = (event) => {
      const place = Number(event.target.value);
      go({ [name]: place, [position]: place });
    };
    const control = element("select", { class: "tj-rot-choice", "aria-label": label, change, "data-lm-suppress-shortcuts": "true" }, ...options);
    control.addEventListener("keydown", (event) => event.stopPropagation());
    return control;
  }

  const sliders = {
    m: slider("m", words.query_position, seen.far), n: slider("n", words.key_position, seen.far),
    shift: slider("shift", words.shift, model.get("far_shift")),
    head: slider("head", words.head, seen.nHeads - 1), pair: slider("pair", words.pair, seen.nPairs - 1),
  };
  const choices = { query: choice("query", words.query, "m"), key: choice("key", words.key, "n") };
  const names = { all: element("span", {}, words.all), one: element("span", {}) };
  const [big, small, line] = [dial(words), clocks(seen.nPairs, words, (pair) => go({ pair })), curve(words)];
  const reset = button(words.reset, () => go({ m: state.query, n: state.key, shift: 0 }));
  const strong = button(words.strongest, () => go({ pair: strongestPair(parts()) }));
  const key = (kind, name) => element("span", { class: "tj-rot-key-entry" }, element("i", { class: `tj-rot-swatch ${kind}` }), name);

  const root = element("div", { class: "tj tj-rot", role: "group", "aria-label": words.title },
    element("div", { class: "tj-rot-top" },
      element("label", { class: "tj-rot-token tj-rot-query" }, words.query, choices.query), sliders.m.place,
      element("label", { class: "tj-rot-token tj-rot-key" }, words.key, choices.key), sliders.n.place,
      element("span", {}), sliders.shift.place),
    element("div", { class: "tj-rot-settings" }, sliders.head.place, sliders.pair.place, strong, reset),
    element("div", { class: "tj-rot-panes" }, big.box,
      element("div", { class: "tj-rot-all" }, element("p", { class: "tj-rot-title" }, words.clocks), small.box)),
    element("p", { class: "tj-rot-title" }, `${words.curve} `, key("tj-rot-whole", names.all), key("tj-rot-alone", names.one)),
    line.box, summary, element("p", { class: "tj-quiet" }, model.get("caption")), spoken);
  el.replaceChildren(root);
  show();
  let room = 0;
  const resized = new ResizeObserver(() => {
    if (!root.clientWidth || root.clientWidth - 16 === room) return;
    room = root.clientWidth - 16; // less the panel's own edges
    line.resize(room);
    show();
  });
  resized.observe(root);
  const stopFollowing = follow(model, STATE, (name, value) => {
    if (state[name] !== value) pick({ [name]: value });
  });
  return () => [resized.disconnect(), stopFollowing()];
}

export default { render };
