// What the rotation explorer computes: no page, no drawing.
// Pair i of a head of 2 P numbers is its numbers i and i + P; at position p it is turned by p * frequency[i].

/** All that the model carries, read once: q and k in float32, frequencies (radians a position) in float64. */
export function readRotation(model) {
  const read = (name, Kind) => {
    const view = model.get(name);
    return new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  };
  const frequencies = read("frequency_bytes", Float64Array);
  return {
    q: read("query_bytes", Float32Array), k: read("key_bytes", Float32Array), frequencies,
    nPairs: frequencies.length, nHeads: model.get("n_heads"), nKv: model.get("n_kv_heads"),
    labels: model.get("labels"), positions: model.get("positions"), far: model.get("far"),
  };
}

/** The pairs of one vector, x and y, out of (n_tokens, n_heads, d_head). */
function pairsAt(vectors, nHeads, nPairs, token, head) {
  const start = (token * nHeads + head) * 2 * nPairs;
  return { x: vectors.subarray(start, start + nPairs), y: vectors.subarray(start + nPairs, start + 2 * nPairs) };
}

/** Query and key that the state selects, before any turn; `query` and `key` are places in `labels`. */
export function selected(seen, { query, key, head }) {
  const shared = Math.floor(head / (seen.nHeads / seen.nKv));
  return {
    q: pairsAt(seen.q, seen.nHeads, seen.nPairs, query, head),
    k: pairsAt(seen.k, seen.nKv, seen.nPairs, key, shared),
  };
}

/** A pair turned by an angle. */
export function turned(x, y, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [x * cos - y * sin, x * sin + y * cos];
}

/** What each pair adds to the score, with the query at position `m` and the key at `n`: (nPairs,). */
export function pairParts(seen, { q, k }, m, n) {
  const scale = Math.sqrt(2 * seen.nPairs);
  return Float64Array.from(seen.frequencies, (frequency, i) => {
    const [a, b] = turned(q.x[i], q.y[i], m * frequency);
    const [c, d] = turned(k.x[i], k.y[i], n * frequency);
    return (a * c + b * d) / scale;
  });
}

/** The most that each pair could add, at the best angle. */
export function mostOfPairs(seen, { q, k }) {
  const scale = Math.sqrt(2 * seen.nPairs);
  return Float64Array.from(seen.frequencies, (_, i) => (Math.hypot(q.x[i], q.y[i]) * Math.hypot(k.x[i], k.y[i])) / scale);
}

export const total = (parts) => parts.reduce((sum, part) => sum + part, 0);

/** The score at every distance from -far to far, of all pairs and of one. */
export function byDistance(seen, vectors, pair) {
  const distances = Array.from({ length: 2 * seen.far + 1 }, (_, i) => i - seen.far);
  const every = distances.map((distance) => pairParts(seen, vectors, distance, 0));
  return { distances, all: every.map(total), one: every.map((parts) => parts[pair]) };
}

/** Whole turns and the rest in degrees: 7.0 rad is [1, 41.07]. */
export function turnsAndDegrees(angle) {
  const turns = Math.floor(angle / (2 * Math.PI));
  return [turns, ((angle - turns * 2 * Math.PI) * 180) / Math.PI];
}

/** The pair that adds or takes away most. */
export function strongestPair(parts) {
  return parts.reduce((best, part, i) => (Math.abs(part) > Math.abs(parts[best]) ? i : best), 0);
}
