// The branches below each other, token under token: where they part, how likely each token and the whole of each was.

import { button, element, fill, guard } from "./parts.js";
import { isBeginning, logProb, shared, takenAt } from "./generation_tree.js";
import { percent } from "./sampling_scales.js";

/** `box` to place; `show(state)` to draw; `go(path)` when a token is chosen, `remove(n)` when a branch is given up. */
export function branchesPane(words, tree, { go, remove }) {
  const table = element("div", { class: "tj-gen-branches", role: "group", "aria-label": words.branches });
  const note = element("p", { class: "tj-quiet" }, words.explain);
  const box = element("div", {}, table, note);

  function show({ path, branches }) {
    const focused = table.contains(document.activeElement) && document.activeElement.dataset.place;
    table.replaceChildren(...branches.map((branch, n) => line(branch, n, branches[n - 1] ?? [], path)));
    table.hidden = !branches.length;
    const cells = [...table.querySelectorAll("[data-place]")];
    const at = cells.find((cell) => cell.dataset.place === focused) ?? cells[0];
    if (at) at.tabIndex = 0;
    if (focused) at?.focus();
  }

  function line(branch, n, above, path) {
    const common = shared(branch, above);
    const cells = branch.map((_, i) => cell(branch, n, i, i < common, path));
    const total = logProb(tree, branch);
    const number = (value) => (value === null ? "…" : value.toFixed(2).replace("-", "−"));
    const likely = element("span", { class: "tj-numbers" }, element("b", {}, `${words.logprob} ${number(total)}`),
      element("br"), `${number(total === null ? null : total / branch.length)} ${words.each}`);
    const name = element("span", { class: "tj-gen-name" }, `${words.branch} ${n + 1}`);
    const side = element("div", { class: "tj-gen-side" },
      button("×", () => remove(n), { "aria-label": fill(words.remove, { n: n + 1 }) }), name, likely);
    return element("div", { class: "tj-gen-branch" }, side, element("div", { class: "tj-gen-cells" }, ...cells));
  }

  function cell(branch, n, i, faint, path) {
    const row = takenAt(tree, branch, i), here = branch.slice(0, i + 1);
    const share = row ? percent(row[2]) : "…", label = row ? row[1] : `id ${branch[i]}`;
    const onPath = isBeginning(here, path), last = onPath && here.length === path.length;
    return guard(element("button", {
      type: "button", tabindex: -1, "data-place": `${n} ${i}`, "aria-current": last ? "step" : null, title: `${label} ${share}`,
      class: `tj-gen-cell tj-mono${faint ? " tj-gen-faint" : ""}${onPath ? " tj-gen-on" : ""}${last ? " tj-gen-here" : ""}`,
      style: `--p: ${row ? Math.round(70 * row[2]) : 0}%`, click: () => go(here), keydown: walkCells,
    }, label, element("span", {}, share)));
  }

  return { box, show };
}

/** Arrow keys go to the neighbouring token, or to the same place in the branch above or below. */
function walkCells(event) {
  const [n, i] = event.currentTarget.dataset.place.split(" ").map(Number);
  const to = { ArrowLeft: [n, i - 1], ArrowRight: [n, i + 1], ArrowUp: [n - 1, i], ArrowDown: [n + 1, i] }[event.key];
  if (!to) return;
  event.preventDefault();
  const target = event.currentTarget.closest(".tj-gen-branches").querySelector(`[data-place="${to.join(" ")}"]`);
  if (!target) return;
  event.currentTarget.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}
