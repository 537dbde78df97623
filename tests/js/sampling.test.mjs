// The explorer's mathematics against helpers/sampling.py; the cases come from make_cases.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { OFF, prepare, sample, seeded, draw } from "../../helpers/widgets/sampling_math.js";
import { scales, percent, count } from "../../helpers/widgets/sampling_scales.js";
import { shownRanks, cutBy } from "../../helpers/widgets/sampling_chart.js";

const read = (name) => JSON.parse(readFileSync(process.env[name], "utf8"));
const cases = [...read("SMALL_CASES"), ...read("FULL_CASES")];

function floats(values) {
  if (typeof values === "string") return new Float32Array(new Uint8Array(Buffer.from(values, "base64")).buffer);
  return Float32Array.from(values, (value) => value ?? -Infinity);
}

function byId(outcome, step) {
  const probs = new Float64Array(outcome.order.length);
  outcome.order.forEach((id, rank) => { probs[id] = outcome.probs(step, rank); });
  return probs;
}

const apart = (ours, theirs) => ours.reduce((most, p, id) => Math.max(most, Math.abs(p - theirs[id])), 0);

test("every step's probabilities are Python's, and the same tokens are kept", () => {
  let worst = 0;
  for (const { name, logits, context_ids, settings, steps, probs, kept } of cases) {
    const outcome = sample(prepare(floats(logits), context_ids), { ...OFF, ...settings });
    const inOurWords = { logits: "original", greedy: "temperature" };
    for (const [step, theirs] of [...steps, ["min_p", probs]]) {
      const off = apart(byId(outcome, inOurWords[step] ?? step), floats(theirs));
      worst = Math.max(worst, off);
      assert.ok(off < 1e-5, `${name}, ${step}: off by ${off}`);
    }
    if (kept) assert.deepEqual([...outcome.order.slice(0, outcome.kept.min_p)].sort((a, b) => a - b), kept, name);
  }
  console.log(`${cases.length} cases, largest difference ${worst.toExponential(1)}`);
});

test("an outcome does not depend on the settings before it", () => {
  const logits = Float32Array.from({ length: 500 }, (_, i) => Math.sin(i * i) * 5);
  const walked = prepare(logits, [3, 4, 4]);
  for (const settings of [{ repetition_penalty: 1.5 }, { temperature: 0 }, { top_k: 5, temperature: 0.3 }, { top_p: 0.5 }]) {
    const fresh = byId(sample(prepare(logits, [3, 4, 4]), { ...OFF, ...settings }), "min_p");
    assert.equal(apart(byId(sample(walked, { ...OFF, ...settings }), "min_p"), fresh), 0);
  }
});

test("the share held is the original probability of the tokens kept", () => {
  const outcome = sample(prepare(Float32Array.from([Math.log(5), Math.log(3), Math.log(2)]), []), { ...OFF, temperature: 2, top_k: 2 });
  assert.ok(Math.abs(outcome.held - 0.8) < 1e-6);
});

test("draws follow the probabilities and repeat with the seed", () => {
  const outcome = sample(prepare(Float32Array.from([Math.log(5), Math.log(3), Math.log(2)]), []), OFF);
  const counts = [0, 0, 0], random = seeded(1);
  for (let i = 0; i < 20000; i++) counts[draw(outcome, random())]++;
  [0.5, 0.3, 0.2].forEach((p, rank) => assert.ok(Math.abs(counts[rank] / 20000 - p) < 0.02));
  assert.equal(seeded(7)(), seeded(7)());
  assert.equal(draw(sample(prepare(Float32Array.from([1, 1]), []), { ...OFF, temperature: 0 }), 0.999999), 0);
});

test("each slider position is its own value's position; odd values take the nearest", () => {
  const scale = scales(49152);
  for (const one of Object.values(scale))
    for (let i = 0; i <= one.steps; i++) assert.equal(one.position(one.at(i)), i);
  assert.equal(scale.top_k.at(scale.top_k.steps), 0);
  assert.equal(scale.top_k.at(scale.top_k.position(41)), 40);
  assert.equal(scales(300).top_k.at(scales(300).top_k.steps - 1), 200);
});

test("both sides of the border are shown, with the step that cut", () => {
  const logits = Float32Array.from({ length: 1000 }, (_, i) => -i / 100);
  const labels = new Map(Array.from(logits, (_, id) => [id, String(id)]));
  const outcome = sample(prepare(logits, []), { ...OFF, top_k: 100, top_p: 0.5 });
  const ranks = shownRanks(outcome, labels);
  const kept = outcome.kept.min_p;
  assert.ok(kept > 20 && kept < 100);
  for (const rank of [0, kept - 1, kept]) assert.ok(ranks.includes(rank));
  assert.deepEqual([kept - 1, kept, 99, 100].map((rank) => cutBy(outcome, rank)), [null, "top_p", "top_p", "top_k"]);
});

test("numbers are written to be read", () => {
  assert.deepEqual([0, 1, 0.773, 0.0065, 0.99999, 1e-7].map(percent), ["0%", "100%", "77.3%", "0.65%", ">99.9%", "<0.001%"]);
  assert.equal(count(49152), "49,152");
});
