// The generation explorer: step token by token, force a token, go back, branch, compare the branches.
// Computed steps are answered here; for a new one the path goes to Python, which sends the step back.

import { button, element, fill, follow, spokenRegion, tell } from "./parts.js";
import { addNodes, back, goTo, nodeAt, pick, ranked, readTree, removed, take, takenAt } from "./generation_tree.js";
import { percent } from "./sampling_scales.js";
import { choicesPane } from "./generation_choices.js";
import { branchesPane } from "./generation_branches.js";

const PATIENCE = 12_000; // ms until a kernel that has not answered is mentioned
const DRAWN_FROM = 20; // the tokens of a step that are surely listed, likeliest first

function render({ model, el }) {
  const words = model.get("words");
  const tree = readTree(model.get("nodes"));
  const live = typeof model.send === "function"; // a static page has no kernel to ask
  let state = { path: model.get("path"), branches: model.get("branches") };
  let late = false, timer = null;

  const spoken = spokenRegion();
  const sentence = element("p", { class: "tj-gen-says" });
  const text = element("div", { class: "tj-gen-text", role: "group", "aria-label": words.text });
  const whole = element("p", { class: "tj-gen-whole" });
  const choices = choicesPane(words, (id) => move(take(state, id)));
  const branches = branchesPane(words, tree, { go: (path) => move(goTo(state, path)), remove: (n) => move(removed(state, n)) });
  const controls = {
    likeliest: button(words.likeliest, () => move(take(state, ranked(nodeAt(tree, state.path))[0][0]))),
    draw: button(words.draw, draw),
    back: button(words.back, () => move(back(state))),
    start: button(words.start, () => move(goTo(state, []))),
  };

  function draw() {
    const uniform = Math.random();
    const id = pick(nodeAt(tree, state.path), uniform, DRAWN_FROM);
    if (id !== null) move(take(state, id));
    else if (live) model.send({ draw: uniform, path: state.path });
    else spoken.textContent = sentence.textContent = words.needs_kernel;
  }

  function move(next) {
    state = next;
    late = false;
    show();
    say();
    tell(model, { path: state.path, branches: state.branches }); // Python sends the step if it is new
  }

  function show() {
    const node = nodeAt(tree, state.path), open = node?.alternatives.length > 0;
    clearTimeout(timer);
    if (!node && live && !late) timer = setTimeout(() => { late = true; show(); say(); }, PATIENCE);
    for (const name of ["likeliest", "draw"]) controls[name].disabled = !open;
    for (const name of ["back", "start"]) controls[name].disabled = !state.path.length;
    sentence.textContent = said();
    text.replaceChildren(...chips());
    whole.textContent = readable(node);
    choices.show(node, state.path.length + 1);
    branches.show(state);
  }

  /** The prompt, and the tokens so far as buttons that lead back to them. */
  function chips() {
    const prompt = element("span", { class: "tj-quiet tj-mono tj-gen-prompt", title: words.prompt }, model.get("prompt_tokens").join(""));
    const tokens = state.path.map((id, i) => {
      const label = takenAt(tree, state.path, i)?.[1] ?? `id ${id}`;
      return button(label, () => move(goTo(state, state.path.slice(0, i + 1))), { class: "tj-chip tj-mono tj-gen-chip" });
    });
    return [prompt, ...tokens];
  }

  /** The text in whole characters, where the tokens alone do not show them. */
  function readable(node) {
    const labels = state.path.map((_, i) => takenAt(tree, state.path, i)?.[1] ?? "");
    const same = labels.join("").replaceAll("␣", " ").replaceAll("↵", "\n") === node?.text;
    return node && !same ? `= ${node.text}` : "";
  }

  function said() {
    const step = state.path.length, taken = step ? takenAt(tree, state.path, step - 1) : null;
    const facts = taken && { step, token: taken[1], before: percent(taken[2]), after: percent(taken[3]) };
    const first = !step ? words.at_start : taken ? fill(taken[3] > 0 ? words.took : words.forced, facts) : "";
    return `${first} ${outlook(taken)}`.trim();
  }

  /** What can come now, or why nothing is shown. */
  function outlook(taken) {
    const node = nodeAt(tree, state.path);
    if (!node) return live ? (late ? words.no_answer : words.computing) : words.needs_kernel;
    if (node.ended) return fill(words[`ended_${node.ended}`], { token: taken?.[1] });
    const [, token, , share] = ranked(node)[0];
    return fill(words.next, { token, share: percent(share) });
  }

  function say() {
    spoken.textContent = said();
  }

  function arrived(message) {
    addNodes(tree, message.nodes);
    if (message.drawn === undefined) show();
    else if (message.path.join() === state.path.join()) move(take(state, message.drawn));
    say();
  }

  const bar = element("div", { class: "tj-actions tj-gen-actions" }, ...Object.values(controls));
  el.replaceChildren(element("div", { class: "tj tj-gen", role: "group", "aria-label": words.title },
    element("p", { class: "tj-quiet" }, `${fill(words.settings, { settings: model.get("settings_text") })}. ${model.get("caption")}`),
    text, whole, element("div", { class: "tj-gen-columns" }, choices.box, element("div", {}, bar, sentence)), branches.box, spoken));
  show();

  model.on("msg:custom", arrived);
  const stop = follow(model, ["path"], (_, path) => {
    if (path.join() === state.path.join()) return;
    state = goTo(state, path);
    show();
  });
  return () => {
    clearTimeout(timer);
    model.off("msg:custom", arrived);
    stop();
  };
}

export default { render };
