// The neuron explorer: strongest neurons of a block at a token, where else one fires, which tokens it promotes.
import { button, element, fill, follow, guard, range, spokenRegion, tell } from "./parts.js";
import { ORDERS, activations, listAt, promoted, pushes, readNeurons } from "./neurons_data.js";

const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
const plain = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

/** A row: label, a bar from the middle, a number. `show(label, value, largest, text)`. */
function barRow(tag, attributes = {}) {
  const label = element("span", { class: "tj-label tj-mono" });
  const fillBar = element("i");
  const number = element("span", { class: "tj-numbers" });
  const box = element(tag, { class: "tj-neu-row", ...attributes }, label, element("span", { class: "tj-neu-bar" }, fillBar), number);
  const show = (name, value, largest, text) => {
    label.textContent = label.title = name;
    number.textContent = text;
    const width = largest ? (50 * Math.abs(value)) / largest : 0;
    Object.assign(fillBar.style, { width: `${width}%`, left: value < 0 ? `${50 - width}%` : "50%" });
    fillBar.className = value < 0 ? "tj-neu-below" : "tj-neu-above";
  };
  return { box, show };
}

/** A list of which one is chosen by click or by the arrow keys `back` and `forth`. */
function choice(name, rows, [back, forth], pick, save) {
  const list = element("div", { role: "listbox", "aria-label": name });
  const last = rows.length - 1;
  rows.forEach((box, i) => {
    box.setAttribute("role", "option");
    box.addEventListener("click", () => [pick(i), box.focus(), save()]);
    guard(box).addEventListener("keydown", (event) => {
      const to = { [back]: i - 1, [forth]: i + 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(last, to));
      pick(next);
      rows[next].focus();
    });
    box.addEventListener("keyup", save);
  });
  list.append(...rows);
  const show = (chosen) => rows.forEach((box, i) => {
    box.setAttribute("aria-selected", i === chosen);
    box.tabIndex = i === chosen ? 0 : -1;
  });
  return { list, show };
}

function render({ model, el }) {
  const [seen, words] = [readNeurons(model), model.get("words")];
  const state = {
    layer: model.get("layer"), at: seen.positions.indexOf(model.get("token")), order: model.get("order"), rank: model.get("rank"),
  };
  const [place, said] = ["tj-neu-place", "tj-neu-said"].map((name) => element("p", { class: name }));
  const spoken = spokenRegion();
  const pick = (change) => [Object.assign(state, change), show()];
  const save = () => {
    tell(model, { layer: state.layer, token: seen.positions[state.at], order: state.order, rank: state.rank });
    spoken.textContent = `${place.textContent} ${said.textContent}`;
  };

  const slider = range(words.layer, seen.nLayers - 1, { input: (layer) => pick({ layer, rank: 0 }), change: save });
  slider.disabled = seen.nLayers < 2;
  const block = element("b", { "aria-hidden": "true" });
  const orders = ORDERS.map((order) => button(words[order], () => [pick({ order, rank: 0 }), save()]));
  const chips = seen.tokens.map((token) => element("span", { class: "tj-chip tj-mono" }, token));
  const tokens = choice(words.tokens, chips, ["ArrowLeft", "ArrowRight"], (at) => pick({ at, rank: 0 }), save);
  const rows = Array.from({ length: seen.k }, () => barRow("div"));
  const neurons = choice(words.list, rows.map(({ box }) => box), ["ArrowUp", "ArrowDown"], (rank) => pick({ rank }), save);
  const [rest, total] = [barRow("div"), barRow("div")];
  const fires = seen.tokens.map(() => barRow("div"));
  const [listTitle, firesTitle] = [element("h4"), element("h4")];
  const sides = ["up", "down"].map((side) => {
    const names = Array.from({ length: seen.m }, () => element("span", { class: "tj-chip tj-mono" }));
    const box = element("p", { class: `tj-neu-names tj-neu-${side}` }, element("span", { class: "tj-quiet" }, words[side]), ...names);
    return { side, names, box };
  });

  function show() {
    const list = listAt(seen, state);
    const chosen = list[state.rank];
    const { total: all, rest: others } = pushes(seen, state, list);
    const answer = seen.answers[state.at];
    slider.value = block.textContent = state.layer;
    orders.forEach((one, i) => one.setAttribute("aria-pressed", ORDERS[i] === state.order));
    tokens.show(state.at);
    neurons.show(state.rank);
    place.textContent = fill(words.place, { layer: state.layer, token: seen.tokens[state.at], answer, total: signed(all) });
    said.textContent = fill(words.says, {
      neuron: chosen.neuron, act: plain(chosen.act), strength: chosen.strength.toFixed(2), push: signed(chosen.push), answer,
    });
    showList(list, all, others);
    showNeuron(chosen);
  }

  function showList(list, all, others) {
    const byPush = state.order === "push";
    const values = list.map((one) => one[state.order]);
    const largest = Math.max(...values.map(Math.abs), ...(byPush ? [Math.abs(all), Math.abs(others)] : []));
    listTitle.textContent = words[state.order];
    list.forEach((one, i) => rows[i].show(fill(words.neuron, one), values[i], largest, byPush ? signed(values[i]) : values[i].toFixed(2)));
    rest.show(fill(words.others, { count: (seen.dMlp - seen.k).toLocaleString("en-US") }), others, largest, signed(others));
    total.show(words.total, all, largest, signed(all));
    for (const { box } of [rest, total]) box.style.visibility = byPush ? "" : "hidden";
  }

  function showNeuron({ one, neuron, act }) {
    const values = activations(seen, one);
    const largest = Math.max(...Array.from(values, Math.abs));
    firesTitle.textContent = fill(words.fires, { neuron });
    fires.forEach((row, i) => {
      row.show(seen.tokens[i], values[i], largest, plain(values[i]));
      row.box.classList.toggle("tj-neu-on", i === state.at);
    });
    const tokensOf = promoted(seen, one, act);
    for (const { side, names } of sides) names.forEach((name, i) => (name.textContent = tokensOf[side][i]));
  }

  el.replaceChildren(element("div", { class: "tj tj-neu", role: "group", "aria-label": words.title },
    element("div", { class: "tj-neu-controls" },
      element("label", { class: "tj-neu-slider" }, words.layer, slider, block),
      element("div", { class: "tj-neu-orders", role: "group", "aria-label": words.order }, words.order, ...orders)),
    element("div", { class: "tj-neu-tokens" }, tokens.list), place,
    element("div", { class: "tj-neu-panes" },
      element("div", {}, listTitle, neurons.list, rest.box, total.box),
      element("div", {}, firesTitle, ...fires.map(({ box }) => box))),
    said, ...sides.map(({ box }) => box), element("p", { class: "tj-quiet tj-neu-caption" }, model.get("caption")), spoken));
  show();
  return follow(model, ["layer", "token", "order", "rank"], (name, value) => {
    const [key, now] = name === "token" ? ["at", seen.positions.indexOf(value)] : [name, value];
    if (state[key] !== now) pick({ [key]: now });
  });
}

export default { render };
