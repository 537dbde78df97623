// How bytes are shown: nothing invisible, nothing replaced. The same rules as helpers/characters.py.

const MARKS = { " ": "␣", "\n": "↵", "\t": "→" };
const INVISIBLE = /^[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800\ufffd]/u;
const EMOJI = /^(\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\ufe0f\u20e3)/u;
const ACCENT = /^\p{M}/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

export const hex = (bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** What a reader counts as characters. */
export function clustersOf(text) {
  return [...segmenter.segment(text)].map(({ segment }) => segment);
}

/** UTF-8 as visible text, the rest as hex: " \xf0\x9f" is "␣ f0 9f". */
export function showBytes(bytes) {
  return stretches(bytes).map(({ text, raw }) => (text === null ? hex(raw) : visibleText(text))).join(" ");
}

export function visibleText(text) {
  return clustersOf(text).map(visibleCluster).join("");
}

function visibleCluster(cluster) {
  if (EMOJI.test(cluster)) return cluster;
  const bare = INVISIBLE.test(cluster) || ACCENT.test(cluster);
  return [...cluster].map((character) => {
    if (character in MARKS) return MARKS[character];
    if (INVISIBLE.test(character)) return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return bare && ACCENT.test(character) ? "◌" + character : character;
  }).join("");
}

/** Stretches of bytes that are UTF-8, with their text, and stretches that are not. */
function stretches(bytes) {
  const found = [];
  for (let i = 0; i < bytes.length; ) {
    const [length, text] = character(bytes, i);
    const last = found.at(-1);
    if (last && (last.text === null) === (text === null)) {
      last.raw.push(...bytes.slice(i, i + length));
      if (text !== null) last.text += text;
    } else found.push({ raw: bytes.slice(i, i + length), text });
    i += length;
  }
  return found;
}

/** [bytes, text] of the character that starts at i; [1, null] where none does. */
function character(bytes, i) {
  const length = bytes[i] < 0x80 ? 1 : bytes[i] >= 0xf0 ? 4 : bytes[i] >= 0xe0 ? 3 : 2;
  try {
    const raw = new Uint8Array(bytes.slice(i, i + length));
    return [length, new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw)];
  } catch {
    return [1, null]; // the decoder throws on what is no whole character
  }
}

/** Runs of positions in `pieces` (arrays of bytes), cut wherever a character ends where a piece ends. */
export function runsOf(pieces) {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(pieces.flat()));
  const [encoder, ends, runs] = [new TextEncoder(), new Set(), [[]]];
  let end = 0;
  for (const cluster of clustersOf(text)) ends.add((end += encoder.encode(cluster).length));
  end = 0;
  pieces.forEach((piece, i) => {
    runs.at(-1).push(i);
    if (ends.has((end += piece.length)) && i < pieces.length - 1) runs.push([]);
  });
  return runs;
}
