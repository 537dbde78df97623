// The bars of the sampling explorer: an outline for the probability before all steps, filled for the one after.
// Their length is the square root of it: one token often has most of it, and the others are still to be seen.
// Twenty rows are made once and rewritten, which is quicker than new ones at every step of a drag.

import { element, fill, guard } from "./parts.js";
import { STEPS } from "./sampling_math.js";
import { count, percent } from "./sampling_scales.js";

const HEAD = 12; // likeliest tokens shown when the border between kept and cut lies further down
const ROWS = 19;
const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1];

/** Ranks to show, null for the gap: the likeliest, and both sides of the border where its tokens have labels. */
export function shownRanks(outcome, labels) {
  const kept = outcome.kept.min_p, all = outcome.order.length;
  const top = Array.from({ length: Math.min(ROWS, all) }, (_, rank) => rank);
  if (kept <= ROWS - 3 || kept + 4 > all) return top;
  const border = Array.from({ length: ROWS - HEAD - 1 }, (_, i) => kept - 2 + i).filter((rank) => rank < all);
  if (!border.every((rank) => labels.has(outcome.order[rank]))) return top;
  return [...top.slice(0, HEAD), null, ...border];
}

/** The step that cut the token at `rank`, or null. */
export function cutBy({ kept }, rank) {
  return STEPS.find((step) => rank >= kept[step]) ?? null;
}

/** The chart: `box` to place, `show(outcome, followed)` to draw; `choose(id)` when a row is picked. */
export function chart(words, labels, choose) {
  const ticks = TICKS.map((p) => element("span", { style: `left: ${length(p)}` }, p === 1 ? "100%" : String(100 * p)));
  const key = (name) =>
    element("span", { class: "tj-numbers" }, element("i", { class: `tj-key tj-${name}` }), words[name]);
  const head = element("div", { class: "tj-row tj-head tj-quiet", "aria-hidden": "true" },
    element("span", { class: "tj-scale" }, words.scale), element("span", { class: "tj-ticks" }, ...ticks),
    key("before"), key("after"));
  const list = element("div", { role: "listbox", "aria-label": words.tokens, class: "tj-bars" });
  const rest = element("div", { class: "tj-rest tj-quiet" });
  const rows = Array.from({ length: ROWS }, () => row(list, choose));
  const box = element("div", { class: "tj-chart" }, head, list, rest);

  function show(outcome, followed) {
    const ranks = shownRanks(outcome, labels);
    rows.forEach((one, i) => {
      if (i >= ranks.length) one.hide();
      else if (ranks[i] === null) one.gap(fill(words.more_kept, { count: count(ranks[i + 1] - HEAD) }));
      else one.token(outcome, ranks[i], labels, words, followed);
    });
    if (!rows.some(({ box }) => box.tabIndex === 0 && !box.hidden)) rows[0].box.tabIndex = 0;
    rest.textContent = tail(outcome, ranks.at(-1) + 1, words);
  }
  return { box, show };
}

const length = (p) => `${100 * Math.sqrt(p)}%`;

function tail({ kept, order }, from, words) {
  const stay = Math.max(kept.min_p - from, 0), gone = order.length - from - stay;
  const parts = [[stay, words.more_kept], [gone, words.more_cut]].filter(([number]) => number > 0);
  return parts.map(([number, phrase]) => fill(phrase, { count: count(number) })).join(" · ");
}

/** One row; arrow keys go through the rows of the list. */
function row(list, choose) {
  const label = element("span", { class: "tj-label tj-mono" });
  const outline = element("i", { class: "tj-before" });
  const filled = element("i", { class: "tj-after" });
  const beforeText = element("span", { class: "tj-numbers" });
  const afterText = element("span", { class: "tj-numbers" });
  const box = guard(element("div", { role: "option", class: "tj-row", keydown: (event) => walk(event, box) },
    label, element("span", { class: "tj-bar" }, outline, filled), beforeText, afterText));
  let id = null;
  box.addEventListener("click", () => choose(id));
  box.addEventListener("focus", () => choose(id));
  list.append(box);

  function token(outcome, rank, labels, words, followed) {
    const before = outcome.probs("original", rank), after = outcome.probs("min_p", rank);
    const reason = cutBy(outcome, rank);
    id = outcome.order[rank];
    label.textContent = labels.get(id);
    outline.style.width = length(before);
    filled.style.width = length(after);
    beforeText.textContent = percent(before);
    afterText.textContent = reason ? fill(words.cut_by, { step: words[reason] }) : percent(after);
    box.className = `tj-row${reason ? " tj-is-cut" : ""}`;
    box.setAttribute("aria-selected", id === followed);
    box.tabIndex = id === followed ? 0 : -1;
    box.hidden = false;
  }
  function gap(phrase) {
    label.textContent = "⋮";
    beforeText.textContent = "";
    afterText.textContent = phrase;
    outline.style.width = filled.style.width = "0";
    box.className = "tj-row tj-gap tj-quiet";
    box.removeAttribute("aria-selected");
    box.tabIndex = -1;
    box.hidden = false;
    id = null;
  }
  return { box, token, gap, hide: () => { box.hidden = true; } };
}

function walk(event, box) {
  const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!next) return;
  event.preventDefault();
  let target = box[next];
  if (target?.classList.contains("tj-gap")) target = target[next];
  if (target && !target.hidden) target.focus();
}
