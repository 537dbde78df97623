// What could come next: one row an alternative, as in the sampling explorer, but each can be taken.

import { element, fill, guard } from "./parts.js";
import { ranked } from "./generation_tree.js";
import { count, percent } from "./sampling_scales.js";

/** `box` to place; `show(node, step)` to draw, null while the step is not known; `choose(id)` when a row is taken. */
export function choicesPane(words, choose) {
  const key = (name) => element("span", { class: "tj-numbers" }, element("i", { class: `tj-key tj-${name}` }), words[name]);
  const head = element("div", { class: "tj-row tj-head tj-quiet", "aria-hidden": "true" },
    element("span", { class: "tj-scale" }, words.scale), element("span"), key("before"), key("after"));
  const list = element("div", { role: "listbox", class: "tj-gen-list" });
  const kept = element("p", { class: "tj-quiet tj-gen-kept" });
  const box = element("div", { class: "tj-gen-choices" }, head, list, kept);

  function show(node, step) {
    const focused = list.contains(document.activeElement);
    const rows = node ? ranked(node).map((row, i) => choiceRow(row, i, words, choose)) : [];
    list.setAttribute("aria-label", fill(words.choices, { step }));
    list.replaceChildren(...rows);
    kept.textContent = rows.length ? fill(words.kept, { kept: count(node.n_kept), listed: rows.length }) : "";
    if (focused) (list.firstChild ?? list).focus();
  }
  return { box, show };
}

const barLength = (p) => `width: ${100 * Math.sqrt(p)}%`;

function choiceRow([id, label, before, after], i, words, choose) {
  const number = (text) => element("span", { class: "tj-numbers" }, text);
  const bars = [["tj-before", before], ["tj-after", after]].map(([name, p]) => element("i", { class: name, style: barLength(p) }));
  return guard(element("div", {
    role: "option", class: `tj-row${after > 0 ? "" : " tj-is-cut"}`, tabindex: i ? -1 : 0, "aria-selected": i === 0,
    click: () => choose(id), keydown: (event) => step(event, () => choose(id)),
  }, element("span", { class: "tj-label tj-mono", title: label }, label), element("span", { class: "tj-bar" }, ...bars),
  number(percent(before)), number(after > 0 ? percent(after) : words.cut)));
}

/** Arrow keys go through the rows, Enter and Space take one. */
function step(event, takeIt) {
  const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (next) event.currentTarget[next]?.focus();
  else if (event.key === "Enter" || event.key === " ") takeIt();
  else return;
  event.preventDefault();
}
