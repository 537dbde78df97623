// The neuron explorer's numbers against Python's. NEURON_CASES: a file written by tests/test_widgets_neurons.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { activations, listAt, promoted, pushes, readNeurons } from "../../helpers/widgets/neurons_data.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.NEURON_CASES, "utf-8"));
const close = (ours, theirs, what) => {
  assert.ok(Math.abs(ours - theirs) <= 1e-6 * Math.max(1, Math.abs(theirs)), `${what}: ${ours}, Python has ${theirs}`);
};

for (const { name, state, places } of cases) {
  const seen = readNeurons(new StaticModel(state));

  test(`${name}: lists, pushes, totals and activations are Python's`, () => {
    assert.ok(places.length > 0);
    for (const { layer, at, order, listed, total, rest } of places) {
      const what = `block ${layer}, token ${at}, ${order}`;
      const list = listAt(seen, { layer, at, order });
      assert.deepEqual(list.map(({ neuron }) => neuron), listed.map(({ neuron }) => neuron), what);
      list.forEach((one, i) => {
        for (const key of ["act", "push", "strength"]) close(one[key], listed[i][key], `${what}, ${key} ${i}`);
        listed[i].everywhere.forEach((value, j) => close(activations(seen, one.one)[j], value, `${what}, at ${j}`));
      });
      const sums = pushes(seen, { layer, at }, list);
      close(sums.total, total, `${what}, total`);
      close(sums.rest, rest, `${what}, rest`);
    }
  });

  test(`${name}: promoted tokens are turned round by a negative activation`, () => {
    for (const { layer, at, order, listed } of places)
      listAt(seen, { layer, at, order }).forEach(({ one, act }, i) => assert.deepEqual(promoted(seen, one, act), listed[i].promoted));
  });
}
