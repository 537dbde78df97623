// What the tile explorer computes: attention tile by tile for one head, as helpers/flash.py does. No page, no drawing.
// Settings have the names they have in Python: { head, block_q, block_k, window, decode }; rows are positions in the text.

/** All that the model carries, read once. */
export function readFlash(model) {
  const view = model.get("packed");
  const numbers = new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const labels = model.get("labels");
  const [n, nHeads, nKv, d] = [labels.length, model.get("n_heads"), model.get("n_kv_heads"), model.get("d_head")];
  const part = (start, heads) => numbers.subarray(start * n * d, (start + heads) * n * d);
  return { q: part(0, nHeads), mixed: part(nHeads, nHeads), k: part(2 * nHeads, nKv), v: part(2 * nHeads + nKv, nKv),
    labels, n, nHeads, nKv, d, scale: model.get("scale"), ownWindow: model.get("own_window"), numberBytes: model.get("number_bytes") };
}

/** The d numbers of one token in one head of q, k, v or mixed. */
export const vectorAt = ({ n, d }, heads, head, token) => heads.subarray((head * n + token) * d, (head * n + token + 1) * d);

/** May this row look at this column? */
export const maySee = (window, row, column) => column <= row && (window === 0 || column > row - window);

function kindOf(window, [top, bottom], [left, right]) {
  if (left >= bottom || (window && right - 1 <= top - window)) return "skipped";
  return right - 1 > top || (window && left <= bottom - 1 - window) ? "partly" : "whole";
}

/** [{ rows: [from, to), columns: [from, to), kind, begins, complete }, …] in the order they are worked on. */
export function tilesOf(n, { block_q, block_k, window, decode }) {
  const tiles = [];
  for (let top = decode ? n - 1 : 0; top < n; top += decode ? 1 : block_q)
    for (let left = 0; left < n; left += block_k) {
      const [rows, columns] = [[top, Math.min(top + (decode ? 1 : block_q), n)], [left, Math.min(left + block_k, n)]];
      tiles.push({ rows, columns, kind: kindOf(window, rows, columns), begins: left === 0, complete: columns[1] === n });
    }
  return tiles;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; // a plain loop: this is most of the work
  return sum;
}

/** Scores of one tile, row by row; -Infinity where the mask hides. */
export function tileScores(flash, { head, window }, { rows, columns }) {
  const shared = Math.floor(head / (flash.nHeads / flash.nKv));
  const queries = span(rows).map((row) => vectorAt(flash, flash.q, head, row));
  const keys = span(columns).map((column) => vectorAt(flash, flash.k, shared, column));
  return queries.map((query, i) => keys.map((key, j) =>
    (maySee(window, rows[0] + i, columns[0] + j) ? flash.scale * dot(query, key) : -Infinity)));
}

export const span = ([from, to]) => Array.from({ length: to - from }, (_, i) => from + i);

/** The state of one row before its first tile. */
const nothing = (d) => ({ maximum: -Infinity, total: 0, mixed: new Float64Array(d), factor: 1 });

/** The state of one row after one more tile: its scores there, and the values of the tile's columns. */
export function addScores(before, scores, values) {
  const maximum = Math.max(before.maximum, ...scores);
  if (maximum === -Infinity) return { ...before, factor: 1 };
  const factor = Math.exp(before.maximum - maximum); // what was summed before was measured from the older maximum
  const shares = scores.map((score) => Math.exp(score - maximum));
  const mixed = before.mixed.map((sum) => factor * sum);
  shares.forEach((share, j) => {
    for (let i = 0; i < mixed.length; i++) mixed[i] += share * values[j][i];
  });
  return { maximum, total: shares.reduce((sum, share) => sum + share, factor * before.total), mixed, factor };
}

/** Every tile with what is known before and after it: { ...tile, scores: [row][column] or null, before, states: [row] }. */
export function walkTiles(flash, settings) {
  const shared = Math.floor(settings.head / (flash.nHeads / flash.nKv));
  let states = [];
  return tilesOf(flash.n, settings).map((tile) => {
    if (tile.begins) states = span(tile.rows).map(() => nothing(flash.d));
    const scores = tile.kind === "skipped" ? null : tileScores(flash, settings, tile);
    const values = span(tile.columns).map((column) => vectorAt(flash, flash.v, shared, column));
    const before = states;
    states = before.map((state, i) => (scores ? addScores(state, scores[i], values) : { ...state, factor: 1 }));
    return { ...tile, scores, before, states };
  });
}

/** The finished row: its mix divided by its total; 0 where it saw nothing. */
export const divided = ({ mixed, total }) => mixed.map((sum) => (total > 0 ? sum / total : 0));

/** Largest difference to the model's own mixed rows, of the rows that a tile completes; null where it completes none. */
export function differenceAt(flash, { head }, { rows, states, complete }) {
  if (!complete) return null;
  const far = states.map((state, i) => {
    const own = vectorAt(flash, flash.mixed, head, rows[0] + i);
    return divided(state).reduce((most, x, j) => Math.max(most, Math.abs(x - own[j])), 0);
  });
  return Math.max(...far);
}

/** Smallest and largest score that some row may see. */
export function scoreRange(walk) {
  const seen = walk.flatMap(({ scores }) => scores?.flat() ?? []).filter((score) => score > -Infinity);
  return [Math.min(...seen), Math.max(...seen)];
}

const size = ([from, to]) => to - from;

/** Tiles, numbers held and bytes moved after a step; Python's helpers.widgets.flash_walk.counts. */
export function countsAt({ n, d, numberBytes }, walk, step) {
  const now = walk[step];
  const nRows = n - walk[0].rows[0];
  const loaded = (tiles) => tiles.filter(({ kind }) => kind !== "skipped");
  const result = (rows) => rows * (d * numberBytes + 4); // and the logarithm of its total, 4 bytes
  const moved = (tiles) => tiles.reduce((sum, { rows, columns, kind, begins, complete }) => sum
    + (begins ? size(rows) * d * numberBytes : 0)
    + (kind === "skipped" ? 0 : 2 * size(columns) * d * numberBytes)
    + (complete ? result(size(rows)) : 0), 0);
  const past = walk.slice(0, step + 1);
  return {
    loaded: loaded(past).length, to_load: loaded(walk).length,
    skipped: past.length - loaded(past).length, to_skip: walk.length - loaded(walk).length,
    scores: now.scores ? size(now.rows) * size(now.columns) : 0, all_scores: nRows * n,
    state: size(now.rows) * (d + 2), moved: moved(past), to_move: moved(walk),
    naive: numberBytes * (2 * nRows * d + 2 * n * d + 4 * nRows * n),
  };
}

/** Where an arrow key leads from a step; null for any other key. */
export function stepBy(key, walk, step) {
  const across = walk.findIndex(({ complete }) => complete) + 1; // tiles to a block of rows
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across, Home: -Infinity, End: Infinity }[key];
  return by === undefined ? null : Math.max(0, Math.min(walk.length - 1, step + by));
}
