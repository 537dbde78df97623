// What the KV cache explorer computes: no page, no drawing.

/** All that the model carries, read once. */
export function readCache(model) {
  const view = model.get("packed");
  const names = { nPrompt: "n_prompt", nSteps: "n_steps", nLayers: "n_layers", rowBytes: "row_bytes", aToken: "a_token", aPair: "a_pair" };
  const numbers = Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [ours, model.get(theirs)]));
  return { shares: new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)),
    labels: model.get("labels"), positions: model.get("positions"), ...numbers };
}

/** Shares of the shown tokens that the new token of a step (1, 2, …) reads in a block; later tokens have 0. */
export function sharesAt(cache, step, block) {
  const n = cache.labels.length;
  const start = ((step - 1) * cache.nLayers + block) * n;
  return cache.shares.subarray(start, start + n);
}

/** Work of one step: rows computed and read in each block, multiplications in all; step 0 is the prefill. */
export function stepWork({ nPrompt, aToken, aPair }, step, cached) {
  const n = nPrompt + step;
  const computed = cached && step ? 1 : n;
  const old = n - computed;
  const pairs = (n * (n + 1) - old * (old + 1)) / 2;
  return { computed, read: old, multiplications: computed * aToken + pairs * aPair };
}

/** Multiplications of the steps 0 … step. */
export function workSoFar(cache, step, cached) {
  let sum = 0;
  for (let i = 0; i <= step; i++) sum += stepWork(cache, i, cached).multiplications;
  return sum;
}

/** Bytes of all keys and values kept after a step. */
export const bytesKept = (cache, step, cached) => (cached ? cache.rowBytes * (cache.nPrompt + step) : 0);

/** What becomes of the row at a position in a step: "now" (computed), "read", or "later" (not there yet). */
export function stateOf(cache, { step, cached }, position) {
  const n = cache.nPrompt + step;
  if (position >= n) return "later";
  return position >= n - stepWork(cache, step, cached).computed ? "now" : "read";
}

/** {index, weight}: the shown token that is read most, and `hidden`: what falls on tokens not shown. */
export function mostRead(cache, step, block) {
  const shares = sharesAt(cache, step, block);
  let [index, sum] = [0, 0];
  shares.forEach((share, i) => {
    sum += share;
    if (share > shares[index]) index = i;
  });
  return { index, weight: shares[index], hidden: Math.max(0, 1 - sum) };
}

/** Column of the newest token in a step; null where it is left out. */
export function newestColumn(cache, step) {
  const column = cache.positions.indexOf(cache.nPrompt + step - 1);
  return column < 0 ? null : column;
}
