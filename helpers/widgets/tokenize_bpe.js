// Byte-level BPE: text to words, words to bytes, bytes to tokens, one merge at a time. No display.

/** GPT-2's cuts; White_Space and not \s, which in JavaScript also holds U+FEFF. */
const WORD = new RegExp("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+" +
  "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+", "gu");
const DIGIT_OR_REST = /\p{N}|\P{N}+/gu;
const ESCAPE = /[.*+?^${}()|[\]\\/]/g;

/** The tokenizer as the browser needs it; `triples`: left id, right id, id made, by rank. */
export function readBpe({ size, triples, byteIds, special, digitsAlone }) {
  const merges = new Map();
  const madeFrom = new Map();
  for (let rank = triples.length / 3 - 1; rank >= 0; rank--) {
    const [left, right, made] = triples.subarray(3 * rank, 3 * rank + 3);
    merges.set(left * size + right, rank);
    madeFrom.set(made, { left, right, rank });
  }
  const byteOf = new Map();
  byteIds.forEach((id, byte) => id >= 0 && byteOf.set(id, byte));
  const texts = Object.keys(special).sort((a, b) => b.length - a.length);
  const specials = texts.length ? new RegExp(`(${texts.map((text) => text.replace(ESCAPE, "\\$&")).join("|")})`) : null;
  const textOf = new Map(texts.map((text) => [special[text], text]));
  return { size, triples, merges, madeFrom, byteIds, byteOf, special, specials, textOf, digitsAlone };
}

/** Special tokens as { special: id }, words as { bytes: [id, ...] }, in the order of the text. */
export function cut(bpe, text) {
  const encoder = new TextEncoder();
  const parts = bpe.specials ? text.split(bpe.specials) : [text];
  const inBytes = (word) => ({ bytes: [...encoder.encode(word)].map((byte) => bpe.byteIds[byte]).filter((id) => id >= 0) });
  return parts.flatMap((part, i) => (i % 2 ? [{ special: bpe.special[part] }] : cutWords(part, bpe.digitsAlone).map(inBytes)));
}

export function cutWords(text, digitsAlone) {
  const stretches = digitsAlone ? text.match(DIGIT_OR_REST) ?? [] : [text];
  return stretches.flatMap((stretch) => stretch.match(WORD) ?? []);
}

/** One word's ids after its merges up to rank `until`; the ranks used are added to `used`. */
export function mergeWord(bpe, bytes, until = Infinity, used = null) {
  let pieces = bytes;
  let ranks = bytes.slice(1).map((right, i) => rankOf(bpe, bytes[i], right));
  while (ranks.length) {
    let best = Infinity;
    for (const rank of ranks) if (rank < best) best = rank;
    if (best === Infinity || best > until) break;
    used?.add(best);
    [pieces, ranks] = joined(bpe, pieces, ranks, best);
  }
  return pieces;
}

function rankOf(bpe, left, right) {
  return bpe.merges.get(left * bpe.size + right) ?? Infinity;
}

/** Pieces and neighbours' ranks after the merge `rank`, from the left, without overlap. */
function joined(bpe, pieces, ranks, rank) {
  const [made, newPieces, newRanks, fresh] = [bpe.triples[3 * rank + 2], [], [], []];
  for (let i = 0; i < pieces.length; i++) {
    const match = ranks[i] === rank;
    newPieces.push(match ? made : pieces[i]);
    fresh.push(match);
    if (match) i += 1;
    newRanks.push(ranks[i] ?? Infinity);
  }
  newRanks.pop();
  for (let i = 0; i < newRanks.length; i++)
    if (fresh[i] || fresh[i + 1]) newRanks[i] = rankOf(bpe, newPieces[i], newPieces[i + 1]);
  return [newPieces, newRanks];
}

/** A text made ready for stepping: its parts, and the ranks of all merges in the order they happen. */
export function prepareText(bpe, text) {
  const [parts, used] = [cut(bpe, text), new Set()];
  for (const { bytes } of distinct(parts)) mergeWord(bpe, bytes, Infinity, used);
  return { text, parts, ranks: [...used].sort((a, b) => a - b) };
}

/** The ids after `step` merges: 0 gives the bytes, `ranks.length` the tokens. */
export function idsAt(bpe, { parts, ranks }, step) {
  const until = step >= ranks.length ? Infinity : step ? ranks[step - 1] : -1;
  const done = new Map(distinct(parts).map(({ bytes }) => [bytes.join(), mergeWord(bpe, bytes, until)]));
  return parts.flatMap((part) => (part.bytes ? done.get(part.bytes.join()) : [part.special]));
}

function distinct(parts) {
  return [...new Map(parts.filter((part) => part.bytes).map((part) => [part.bytes.join(), part])).values()];
}

/** The bytes a token stands for. */
export function bytesOf(bpe, id) {
  if (bpe.textOf.has(id)) return [...new TextEncoder().encode(bpe.textOf.get(id))];
  const family = bpe.madeFrom.get(id);
  return family ? [...bytesOf(bpe, family.left), ...bytesOf(bpe, family.right)] : [bpe.byteOf.get(id)];
}
