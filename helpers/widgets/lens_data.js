// What the lens explorer computes: no page, no drawing.
// A cell is one depth (blocks done) at one column (a shown position); cells lie depth after depth, column after column.

/** All that the model carries, read once. `k` likeliest tokens a cell. */
export function readLens(model) {
  const array = (name, Kind) => {
    const view = model.get(name);
    return new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  };
  const [tokens, nLayers] = [model.get("tokens"), model.get("n_layers")];
  const [numbers, places] = [array("numbers", Float32Array), array("places", Int32Array)];
  const k = numbers.length / ((nLayers + 1) * tokens.length) - 2;
  return { numbers, places, k, tokens, nLayers, labels: model.get("labels"), positions: model.get("positions"),
    nVocab: model.get("n_vocab") };
}

/** One cell: its likeliest tokens [{ label, share, isAnswer }], the entropy, the final answer with rank and share. */
export function cellAt(lens, depth, column) {
  const { k, numbers, places, labels, nLayers, tokens } = lens;
  const cell = depth * tokens.length + column;
  const at = (place) => places[cell * (k + 1) + place];
  const answerPlace = places[(nLayers * tokens.length + column) * (k + 1)];
  const top = Array.from({ length: k }, (_, i) =>
    ({ label: labels[at(i)], share: numbers[cell * (k + 2) + i], isAnswer: at(i) === answerPlace }));
  const answer = { label: labels[answerPlace], share: numbers[cell * (k + 2) + k], rank: at(k) };
  return { top, answer, bits: numbers[cell * (k + 2) + k + 1] };
}

/** Rank of the column's final answer after 0, 1, … all blocks. */
export const courseOf = (lens, column) =>
  Array.from({ length: lens.nLayers + 1 }, (_, depth) => cellAt(lens, depth, column).answer.rank);

/** 1 for rank 1 down to 0 for the last rank, evenly in the rank's logarithm. */
export const height = (rank, nVocab) => (nVocab < 2 ? 1 : 1 - Math.log(rank) / Math.log(nVocab));

/** How strongly a cell is coloured, 0 … 1, in each mode. */
export function strength(lens, mode, depth, column) {
  const { top, answer } = cellAt(lens, depth, column);
  return mode === "guess" ? top[0].share : height(answer.rank, lens.nVocab);
}

/** Black or white, whichever stands out more on an [r, g, b] ground. */
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => Math.max(0, Math.min(255, c)) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? "#fff" : "#000";
}

export const commas = (whole) => String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
/** A probability as a percentage that never shows a false zero. */
export function shareText(share) {
  if (share > 0 && share < 0.0005) return "<0.1%";
  return `${(100 * share).toFixed(1)}%`;
}
