// What the attention explorer computes: no page, no drawing.
// `packed` is float32, map after map (layer, then head); of each map only the lower triangle, row by row.

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
// A right-to-left token inside a sentence would pull the number behind it to its other side.
export const isolate = (label) => (RIGHT_TO_LEFT.test(label) ? `\u2068${label}\u2069` : label);
const WIDE = /[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3ffff}]/u;
/** Width of a label in columns; Chinese characters and emoji fill two. */
export const columns = (label) => Array.from(label).reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0);
/** A label cut to `most` columns, between whole characters. */
export function short(label, most = 14) {
  if (columns(label) <= most) return label;
  const letters = Array.from(label);
  while (columns(letters.join("")) >= most) letters.pop();
  return letters.join("") + "…";
}

/** Weights of one row, (row + 1,): what token `row` looks at. */
export function weights(seen, map, row) {
  const start = (map * seen.n * (seen.n + 1) + row * (row + 1)) / 2;
  return seen.pattern.subarray(start, start + row + 1);
}

/** Mean weight of one map on the first token, the previous token and the token itself, over rows 1 … n - 1. */
export function means(seen, map) {
  const sum = { first: 0, previous: 0, itself: 0 };
  let neighbours = 0;
  for (let row = 1; row < seen.n; row++) {
    const weight = weights(seen, map, row);
    sum.first += weight[0];
    sum.itself += weight[row];
    if (seen.positions[row] - seen.positions[row - 1] === 1) {
      sum.previous += weight[row - 1];
      neighbours++;
    }
  }
  const rows = seen.n - 1;
  return { first: sum.first / rows, previous: sum.previous / neighbours, itself: sum.itself / rows };
}

/** {kind: {map, mean}}: the head with the largest mean weight of each kind; the first one where several tie. */
export function strongest(seen) {
  const best = {};
  for (let map = 0; map < seen.nLayers * seen.nHeads; map++)
    for (const [kind, mean] of Object.entries(means(seen, map)))
      if (!(mean <= best[kind]?.mean)) best[kind] = { map, mean };
  return best;
}

/** Where an arrow key leads in a grid of `rows` by `columns`; null for any other key. */
export function step(key, ctrl, [y, x], [rows, columns]) {
  const moves = {
    ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
    PageUp: [y - 5, x], PageDown: [y + 5, x],
    Home: [ctrl ? 0 : y, 0], End: [ctrl ? rows - 1 : y, columns - 1],
  };
  if (!(key in moves)) return null;
  return [clamp(moves[key][0], 0, rows - 1), clamp(moves[key][1], 0, columns - 1)];
}

/** Which of the labels `pitch` pixels apart are written: all, or as many as fit, and always the selected one. */
export function written(index, selected, pitch) {
  const stride = [1, 2, 5, 10, 20].find((every) => every * pitch >= 10);
  return index === selected || (index % stride === 0 && Math.abs(index - selected) * pitch >= 10);
}

// Björn Ottosson, "A perceptual color space for image processing" (2020).
function srgb([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => 255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
}

/** 256 colours [r, g, b] for weights 0 … 1: one hue, equal steps in OKLab, from near the page's background. */
export function ramp(dark) {
  const [low, high] = dark ? [[0.26, 0, -0.025], [0.86, -0.045, -0.066]] : [[0.965, 0, -0.004], [0.36, -0.02, -0.16]];
  return Array.from({ length: 256 }, (_, i) => srgb(low.map((c, k) => c + ((high[k] - c) * i) / 255)));
}

/** Pixel places of the overview; heads that share a KV head stand together. */
export function overviewShape({ nLayers, nHeads, nKv }) {
  const side = Math.floor(clamp(Math.min(510 / nLayers, 380 / nHeads) - 2, 6, 40));
  const perGroup = nHeads / nKv;
  const gap = perGroup > 1 && nKv > 1 ? 8 : 0;
  const [left, top] = [36, perGroup > 1 ? 36 : 20];
  const x = (head) => left + head * (side + 2) + Math.floor(head / perGroup) * gap;
  const y = (layer) => top + layer * (side + 2);
  const at = (px, py) => {
    const heads = Array.from({ length: nHeads }, (_, head) => Math.abs(x(head) + side / 2 - px));
    return [clamp(Math.floor((py - top) / (side + 2)), 0, nLayers - 1), heads.indexOf(Math.min(...heads))];
  };
  return { side, perGroup, x, y, at, width: x(nHeads - 1) + side + 4, height: y(nLayers - 1) + side + 4 };
}

/** Pixel places of the large map: bars above it, labels left and below; a gap where tokens are left out.
    `at` gives [row, column], each null where the place belongs to none. */
export function mapShape({ n, labels, nTokens }, room) {
  const longest = Math.max(...labels.map((label) => columns(short(label))));
  const [left, gap, bar] = [clamp(longest * 7.3 + 24, 64, 130), nTokens > n ? 22 : 0, 48];
  const most = clamp(room - left - 12, 160, clamp(11 * n, 400, 528));
  const cell = clamp(Math.floor((most - gap) / n), 3, 40);
  const top = bar + (cell < 30 ? 58 : 42); // numbers stand upright over narrow bars
  const along = (index) => index * cell + (index > 0 ? gap : 0);
  const size = along(n - 1) + cell;
  const inverse = (pixel) => {
    if (pixel < 0 || pixel >= size) return null;
    return pixel < cell ? 0 : Math.max(gap ? 1 : 0, Math.floor((pixel - gap) / cell));
  };
  const at = (px, py) => [inverse(py - top), inverse(px - left)];
  const height = top + size + 32 + longest * clamp(cell, 9, 12) * 0.46; // labels of 0.6 em a character, on a slope
  return { left, top, bar, cell, gap, size, along, at, width: left + size + 12, height };
}

/** All that the model carries, read once. */
export function readModel(model) {
  const view = model.get("packed");
  const [labels, positions] = [model.get("labels"), model.get("positions")];
  return {
    pattern: new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)),
    labels, positions, n: labels.length, nTokens: model.get("n_tokens"),
    nLayers: model.get("n_layers"), nHeads: model.get("n_heads"), nKv: model.get("n_kv_heads"),
  };
}
