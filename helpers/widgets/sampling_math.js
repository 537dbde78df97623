// Next-token probabilities as helpers/sampling.py computes them: repetition penalty, temperature, top-k, top-p, min-p.
// A step of a slider costs one pass over the vocabulary: it is sorted once, temperature keeps the order, each cut
// takes the tail of it, and the repetition penalty moves few tokens.

export const STEPS = ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"];
export const OFF = { repetition_penalty: 1, temperature: 1, top_k: 0, top_p: 1, min_p: 0 };

/** What stays the same while sliders move. `logits`: Float32Array over the vocabulary, `context`: ids so far. */
export function prepare(logits, context) {
  const order = sorted(logits);
  const scores = new Float64Array(order).map((id) => logits[id]);
  const repeated = [...new Set(context)];
  const isRepeated = new Uint8Array(logits.length);
  for (const id of repeated) isRepeated[id] = 1;
  return { logits, repeated, isRepeated, original: softmax({ order, scores }) };
}

/** Ids by falling logit. Of equal logits the later id comes first: torch's stable ascending sort read backwards. */
function sorted(logits) {
  const bits = new Uint32Array(logits.map((logit) => logit + 0).buffer); // -0 becomes 0
  const keys = new Float64Array(logits.length);
  // Logit and id in one exact number, 32 + 21 bits: numbers are sorted many times faster than with a function.
  for (let id = 0; id < keys.length; id++)
    keys[id] = (bits[id] >>> 31 ? ~bits[id] >>> 0 : bits[id] + 2 ** 31) * 2 ** 21 + id;
  return new Uint32Array(keys.sort().reverse().map((key) => key % 2 ** 21));
}

/** Softmax over ids in falling order of their scores: `total` is in units of the first weight, which is 1. */
function softmax({ order, scores }, weights = new Float64Array(scores.length)) {
  let total = 0;
  for (let rank = 0; rank < scores.length; rank++) total += weights[rank] = Math.exp(scores[rank] - scores[0]);
  return { order, scores, weights, total };
}

/** The softmax after the repetition penalty; the last one is kept, since the other sliders do not change it. */
function penalize(prepared, penalty) {
  const { logits, repeated, original } = prepared;
  if (penalty === 1 || !repeated.length) return original;
  if (prepared.penalized?.penalty !== penalty) {
    const factor = Math.fround(penalty);
    const moved = repeated.map((id) => [id, Math.fround(logits[id] < 0 ? logits[id] * factor : logits[id] / factor)]);
    moved.sort(([a, x], [b, y]) => y - x || b - a);
    prepared.spare ??= { order: new Uint32Array(logits.length), ...floats(logits.length) };
    merge(prepared, moved, prepared.spare);
    prepared.penalized = { penalty, ...softmax(prepared.spare, prepared.spare.weights) };
  }
  return prepared.penalized;
}

/** Room for one softmax, made once: fresh arrays of a whole vocabulary cost more than the arithmetic. */
const floats = (length) => ({ scores: new Float64Array(length), weights: new Float64Array(length) });

/** Fill `order` and `scores`: the original ones with `moved`, [[id, score], ...] in falling order, at their new places. */
function merge({ original, isRepeated }, moved, { order, scores }) {
  let place = 0, next = 0;
  const put = (id, score) => { order[place] = id; scores[place++] = score; };
  for (let rank = 0; rank < order.length; rank++) {
    const id = original.order[rank], score = original.scores[rank];
    if (isRepeated[id]) continue;
    while (next < moved.length && isBefore(moved[next], id, score)) put(...moved[next++]);
    put(id, score);
  }
  while (next < moved.length) put(...moved[next++]);
}

const isBefore = ([id, score], otherId, other) => score > other || (score === other && id > otherId);

/**
 * Every step's outcome. `order`: ids, likeliest first. `kept[step]`: how many from the front of it are left after that
 * step. `probs(step, rank)`: the probability then, step "original" before all of them. `held`: the share of the
 * original probability that the tokens kept at the end had. Valid until the next call.
 */
export function sample(prepared, settings) {
  const start = penalize(prepared, settings.repetition_penalty);
  const heated = settings.temperature === 0 ? greedy(start) : heat(prepared, start, settings.temperature);
  const all = countFinite(start.scores);
  const kept = { repetition_penalty: all, temperature: heated.greedy ? 1 : all };
  const totals = { repetition_penalty: start.total, temperature: heated.total };
  const cut = (step, rule, value) => {
    const before = STEPS[STEPS.indexOf(step) - 1];
    const isOff = heated.greedy || value === OFF[step];
    kept[step] = isOff ? kept[before] : rule(heated, value, kept[before], totals[before]);
    totals[step] = kept[step] === kept[before] ? totals[before] : sum(heated.weights, kept[step]);
  };
  cut("top_k", topK, settings.top_k);
  cut("top_p", topP, settings.top_p);
  cut("min_p", minP, settings.min_p);
  return describe(prepared, start, heated, kept, totals);
}

function describe(prepared, start, heated, kept, totals) {
  const { original, logits } = prepared;
  const before = (id) => Math.exp(logits[id] - original.scores[0]) / original.total;
  const probs = (step, rank) => {
    const id = heated.order[rank];
    if (step === "original") return before(id);
    // greedy only swaps equal tokens, so that a rank has the same score before and after it
    if (step === "repetition_penalty") return Math.exp(start.scores[rank] - start.scores[0]) / start.total;
    return rank < kept[step] ? heated.weights[rank] / totals[step] : 0;
  };
  let held = 0;
  if (kept.min_p === countFinite(start.scores)) held = 1;
  else for (let rank = 0; rank < kept.min_p; rank++) held += before(heated.order[rank]);
  return { order: heated.order, kept, probs, held };
}

function countFinite(scores) {
  let count = scores.length;
  while (scores[count - 1] === -Infinity) count--;
  return count;
}

function sum(weights, count) {
  let total = 0;
  for (let rank = 0; rank < count; rank++) total += weights[rank];
  return total;
}

function heat(prepared, { order, scores }, temperature) {
  prepared.heated ??= floats(scores.length);
  const { heated } = prepared;
  const divisor = Math.fround(temperature);
  for (let rank = 0; rank < scores.length; rank++) heated.scores[rank] = Math.fround(scores[rank] / divisor);
  return softmax({ order, scores: heated.scores }, heated.weights);
}

/** Temperature 0: the largest logit has it all; of equal ones the first id. */
function greedy({ order, scores }) {
  let winner = 0;
  while (scores[winner + 1] === scores[0]) winner++;
  const swapped = order.slice();
  [swapped[0], swapped[winner]] = [order[winner], order[0]];
  return { order: swapped, scores, weights: Float64Array.of(1), total: 1, greedy: true };
}

/** The first k, and every further one that equals the k-th. */
function topK({ scores }, k, count) {
  let left = Math.min(k, count);
  while (left < count && scores[left] === scores[left - 1]) left++;
  return left;
}

// top-p and min-p compare in float32, as torch does: at a border the last bit decides.
function topP({ weights }, p, count, total) {
  const limit = Math.fround(1 - p);
  let left = count, tail = 0;
  while (left > 1) {
    tail += Math.fround(weights[left - 1] / total);
    if (Math.fround(tail) > limit) break;
    left--;
  }
  return left;
}

function minP({ weights }, p, count, total) {
  const limit = Math.fround(Math.fround(p) * Math.fround(1 / total));
  let left = count;
  while (left > 1 && Math.fround(weights[left - 1] / total) < limit) left--;
  return left;
}

/** Random numbers in [0, 1) from a seed, the same in every browser (mulberry32). */
export function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The rank of a token drawn from the final probabilities; `uniform` in [0, 1). */
export function draw(outcome, uniform) {
  let rank = -1;
  for (let left = uniform; left >= 0 && rank < outcome.kept.min_p - 1; ) left -= outcome.probs("min_p", ++rank);
  return rank;
}
