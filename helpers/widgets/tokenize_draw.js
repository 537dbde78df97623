// The tokens as buttons, and the family tree of one of them.
import { element, fill, guard } from "./parts.js";
import { bytesOf } from "./tokenize_bpe.js";
import { hex, runsOf, showBytes, visibleText } from "./tokenize_labels.js";

const MOST_SHOWN = 240; // more pieces than this take longer to lay out than a frame lasts

export const count = (n) => n.toLocaleString("en");

/** What is shown of a token. */
export function describe(bpe, id) {
  const bytes = bytesOf(bpe, id);
  const special = bpe.textOf.get(id);
  return { id, bytes, special: special !== undefined, label: special === undefined ? showBytes(bytes) : visibleText(special) };
}

/** The row of pieces; `pick(index)` when one is chosen by click or arrow key. */
export function pieceRow(bpe, words, pick) {
  const place = element("div", { class: "tj-tok-pieces", role: "group", "aria-label": words.pieces });
  let [buttons, selected] = [[], 0];
  const select = (index) => {
    selected = Math.max(0, Math.min(index, buttons.length - 1));
    buttons.forEach((one, i) => {
      one.setAttribute("aria-pressed", i === selected);
      one.tabIndex = i === selected ? 0 : -1;
    });
  };
  const go = (index) => {
    select(index);
    buttons[selected]?.focus();
    pick(selected);
  };
  guard(place).addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -buttons.length, End: buttons.length }[key];
    if (step) go(selected + step);
  });
  const show = (ids, made) => {
    const pieces = ids.slice(0, MOST_SHOWN).map((id) => describe(bpe, id));
    buttons = pieces.map((piece, i) => pieceButton(piece, i, piece.id === made, words, () => go(i)));
    place.replaceChildren(...runsOf(pieces.map(({ bytes }) => bytes)).map((run) => runBox(run, buttons, pieces)));
    if (ids.length > MOST_SHOWN) place.append(fill(words.more, { n: count(ids.length - MOST_SHOWN) }));
    select(selected);
  };
  return { place, show, select, selected: () => selected };
}

function pieceButton({ id, bytes, label, special }, i, isNew, words, press) {
  const kind = `tj-tok-piece tj-tok-hue${i % 2}${special ? " tj-tok-special" : ""}${isNew ? " tj-tok-new" : ""}`;
  const spelled = hex(bytes.slice(0, 12)) + (bytes.length > 12 ? " …" : "");
  const one = element("button", { type: "button", class: kind, click: press, "data-id": id },
    element("span", { class: "tj-mono" }, label), element("small", {}, special ? `${id} ${words.special}` : id),
    element("small", { class: "tj-mono tj-quiet" }, spelled === label ? "" : spelled));
  one.setAttribute("data-lm-suppress-shortcuts", "true");
  return one;
}

/** Pieces that only together make a character stand over it. */
function runBox(run, buttons, pieces) {
  const own = run.map((i) => buttons[i]);
  if (run.length < 2) return own[0] ?? "";
  const together = showBytes(run.flatMap((i) => pieces[i].bytes));
  return element("span", { class: "tj-tok-run" }, element("span", {}, ...own), element("span", { class: "tj-tok-whole tj-mono" }, `= ${together}`));
}

/** The merges that made token `id`, as a tree of boxes, the token on top. */
export function familyTree(bpe, words, id) {
  const family = bpe.madeFrom.get(id);
  const { label } = describe(bpe, id);
  const note = family ? fill(words.rank, { rank: count(family.rank + 1) }) : "";
  const box = element("div", { class: "tj-tok-box" }, element("span", { class: "tj-mono" }, label), element("small", { class: "tj-quiet" }, note));
  if (!family) return element("div", { class: "tj-tok-node" }, box);
  const parents = [family.left, family.right].map((parent) => familyTree(bpe, words, parent));
  return element("div", { class: "tj-tok-node" }, box, element("div", { class: "tj-tok-parents" }, ...parents));
}

/** How many merges made a token. */
export function mergesIn(bpe, id) {
  const family = bpe.madeFrom.get(id);
  return family ? 1 + mergesIn(bpe, family.left) + mergesIn(bpe, family.right) : 0;
}
