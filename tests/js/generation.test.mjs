// The states of the generation explorer; the tree comes from test_js_generation.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as tree from "../../helpers/widgets/generation_tree.js";

const { state, log_probs: logProbs, draws } = JSON.parse(readFileSync(process.env.GENERATION_CASES, "utf8"));
const known = tree.readTree(state.nodes);
const start = { path: state.path, branches: state.branches };
const [first, second] = state.branches;

test("what was computed in advance can be walked without a kernel", () => {
  let now = start;
  for (const id of first) {
    assert.ok(tree.nodeAt(known, now.path));
    now = tree.take(now, id);
  }
  assert.deepEqual(now, { path: first, branches: start.branches });
  assert.ok(tree.nodeAt(known, first));
});

test("the likeliest token is the first one after the settings", () => {
  for (const node of state.nodes.filter(({ alternatives }) => alternatives.length)) {
    const rows = tree.ranked(node);
    assert.equal(rows[0][3], Math.max(...node.alternatives.map((row) => row[3])));
    assert.equal(rows.length, node.alternatives.length);
  }
  assert.deepEqual(tree.ranked({ alternatives: [[1, "a", 0.5, 0], [2, "b", 0.2, 0], [3, "c", 0.1, 1]] }).map(([id]) => id), [3, 1, 2]);
});

test("log-probabilities are Python's", () => {
  state.branches.forEach((branch, n) => assert.ok(Math.abs(tree.logProb(known, branch) - logProbs[n]) < 1e-4));
  assert.equal(tree.logProb(known, []), 0);
  assert.equal(tree.logProb(known, [...first, 3]), tree.takenAt(known, [...first, 3], first.length) ? tree.logProb(known, [...first, 3]) : null);
  assert.equal(tree.logProb(known, [-1]), null);
});

test("a draw takes the token that Python takes, or says that it needs the kernel", () => {
  const node = tree.nodeAt(known, []);
  for (const { uniform, id, listed } of draws) assert.equal(tree.pick(node, uniform, 20), listed ? id : null);
});

test("the last bits of the sum do not need a kernel", () => {
  const node = { n_kept: 2, alternatives: [[7, "a", 0.6, 0.6], [8, "b", 0.3, 0.3999], [9, "c", 0.1, 0]] };
  assert.equal(tree.pick(node, 0.99999, 20), 8);
});

test("forcing a token opens a branch, going on lengthens it, going back keeps it", () => {
  const other = tree.nodeAt(known, first.slice(0, 2)).alternatives.find(([id]) => id !== first[2] && id !== second[2])[0];
  let now = tree.take(tree.goTo(start, first.slice(0, 2)), other);
  assert.deepEqual(now.branches, [first, second, [...first.slice(0, 2), other]]);
  assert.equal(tree.nodeAt(known, now.path), null);
  now = tree.take(now, 5);
  assert.equal(now.branches.length, 3);
  assert.deepEqual(now.branches[2], now.path);
  now = tree.back(tree.back(now));
  assert.deepEqual(now.path, first.slice(0, 2));
  assert.equal(now.branches.length, 3);
});

test("a step that arrives replaces what was known of it, and no other state is changed", () => {
  const mine = tree.readTree([{ path: [], text: "", ended: "", n_kept: 1, alternatives: [[1, "a", 0.5, 1]] }]);
  tree.addNodes(mine, [{ path: [], text: "", ended: "", n_kept: 1, alternatives: [[1, "a", 0.5, 1], [2, "b", 0.25, 0]] }]);
  assert.equal(tree.logProb(mine, [2]), Math.log(0.25));
  const before = JSON.stringify(start);
  tree.removed(tree.take(start, 9), 0);
  assert.equal(JSON.stringify(start), before);
});

test("removing the branch one stands on leads back to the prompt", () => {
  const now = tree.take(start, -5);
  assert.deepEqual(tree.removed(now, 2), { path: [], branches: [first, second] });
  assert.deepEqual(tree.removed(now, 1).path, [-5]);
  assert.deepEqual(tree.removed(tree.goTo(start, first.slice(0, 1)), 0).path, second[0] === first[0] ? first.slice(0, 1) : []);
});

test("where two branches part", () => {
  assert.equal(tree.shared([1, 2, 3], [1, 2, 4]), 2);
  assert.equal(tree.shared([1, 2], [1, 2, 4]), 2);
  assert.equal(tree.shared([1, 2], []), 0);
  assert.equal(tree.shared([], [1]), 0);
});
