// The tokenizer explorer: type a text, see its pieces, ids and bytes, and step through the merges.
import { button, element, fill, follow, guard, range, spokenRegion, tell } from "./parts.js";
import { idsAt, prepareText, readBpe } from "./tokenize_bpe.js";
import { hex } from "./tokenize_labels.js";
import { count, describe, familyTree, mergesIn, pieceRow } from "./tokenize_draw.js";

const LONGEST = 1000; // characters that can be typed

function bpeOf(model) {
  const view = model.get("triple_bytes");
  const raw = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  const triples = model.get("bytes_each") === 2 ? new Uint16Array(raw) : new Uint32Array(raw);
  return readBpe({
    size: model.get("size"), triples, byteIds: model.get("byte_ids"), special: model.get("special"),
    digitsAlone: model.get("digits_alone"),
  });
}

function render({ model, el }) {
  const [bpe, words] = [bpeOf(model), model.get("words")];
  const nMerges = bpe.triples.length / 3;
  let ready = prepareText(bpe, model.get("text"));
  let step = placed(model.get("step"));
  let ids = [];

  const field = guard(element("textarea", {
    class: "tj-tok-text tj-mono", rows: 2, maxlength: LONGEST, spellcheck: "false", autocomplete: "off", "aria-label": words.text,
  }));
  const [summary, sentence, about] = ["tj-tok-summary", "tj-tok-sentence", "tj-tok-about"].map((name) => element("p", { class: name }));
  const tree = element("div", { class: "tj-tok-tree" });
  const spoken = spokenRegion();
  const slider = range(words.step, ready.ranks.length, { input: (value) => goTo(value), change: () => [save(), say()] });
  const row = pieceRow(bpe, words, (index) => {
    showToken(index);
    spoken.textContent = about.textContent;
  });

  function placed(wanted) {
    return wanted < 0 ? ready.ranks.length : Math.min(wanted, ready.ranks.length);
  }
  function goTo(value) {
    step = placed(Math.max(0, value));
    show();
  }
  function press(value) {
    goTo(value);
    save();
    say();
  }
  function save() {
    tell(model, { text: ready.text, step });
  }
  function say() {
    spoken.textContent = `${sentence.textContent} ${summary.textContent}`;
  }

  function show() {
    ids = idsAt(bpe, ready, step);
    const rank = step ? ready.ranks[step - 1] : null;
    slider.max = ready.ranks.length;
    slider.value = step;
    slider.setAttribute("aria-valuetext", fill(words.of, { step, steps: ready.ranks.length }));
    back.disabled = first.disabled = !step;
    next.disabled = last.disabled = step === ready.ranks.length;
    summary.textContent = summarize();
    sentence.textContent = mergeSentence(rank);
    row.show(ids, rank === null ? null : bpe.triples[3 * rank + 2]);
    showToken(row.selected());
  }

  function summarize() {
    const [characters, bytes] = [[...ready.text].length, new TextEncoder().encode(ready.text).length];
    const ratio = ids.length ? (bytes / ids.length).toFixed(2) : "0";
    return fill(words.summary, { characters: count(characters), bytes: count(bytes), pieces: count(ids.length), ratio });
  }

  function mergeSentence(rank) {
    if (rank === null) return ready.ranks.length ? words.unmerged : words.no_merges;
    const [left, right, made] = [0, 1, 2].map((i) => describe(bpe, bpe.triples[3 * rank + i]).label);
    const numbers = { step, steps: ready.ranks.length, rank: count(rank + 1), all: count(nMerges) };
    return fill(words.merge, { ...numbers, left, right, made });
  }

  function showToken(index) {
    const id = ids[index];
    if (id === undefined) return [about.replaceChildren(), tree.replaceChildren()];
    const { label, bytes, special } = describe(bpe, id);
    const values = { label, id, n: bytes.length, bytes: hex(bytes.slice(0, 24)), merges: mergesIn(bpe, id) };
    about.textContent = fill(special ? words.about_special : values.merges ? words.about : words.about_byte, values);
    return tree.replaceChildren(special ? "" : familyTree(bpe, words, id));
  }

  function typed(event) {
    if (event.isComposing || field.value === ready.text) return; // half-typed pinyin is not yet the text
    const atEnd = step === ready.ranks.length;
    ready = prepareText(bpe, wellFormed(field.value));
    step = placed(atEnd ? -1 : step);
    show();
  }

  const first = button(words.bytes, () => press(0));
  const back = button("‹", () => press(step - 1), { "aria-label": words.back });
  const next = button("›", () => press(step + 1), { "aria-label": words.next });
  const last = button(words.tokens, () => press(ready.ranks.length));
  field.addEventListener("input", typed);
  field.addEventListener("compositionend", () => typed({ isComposing: false })); // Chromium sends no input after it
  field.addEventListener("change", () => [save(), say()]);
  field.value = ready.text;
  el.replaceChildren(element("div", { class: "tj tj-tok", role: "group", "aria-label": words.title },
    field, summary, element("div", { class: "tj-tok-steps" }, first, back, slider, next, last), sentence, row.place, about, tree, spoken));
  show();
  const sizes = ids.map((id) => mergesIn(bpe, id));
  row.select(sizes.indexOf(Math.max(...sizes))); // the token with the largest family
  showToken(row.selected());
  return follow(model, ["text", "step"], (name, value) => {
    if (name === "step" ? placed(value) === step : value === ready.text) return;
    if (name === "text") {
      ready = prepareText(bpe, value);
      field.value = value;
    }
    step = placed(name === "step" ? value : -1);
    show();
    say();
  });
}

/** Text with half a surrogate pair replaced: it could not be encoded. */
function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

export default { render };
