// What the attention explorer computes and says, against PyTorch; the cases come from test_widgets_attention.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as data from "../../helpers/widgets/attention_data.js";
import { cellText, hiddenWeight, headText, rowText } from "../../helpers/widgets/attention_words.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.ATTENTION_CASES, "utf8"));
const seenOf = (state) => data.readModel(new StaticModel(state));
const close = (ours, theirs, name) => assert.ok(Math.abs(ours - theirs) < 1e-6, `${name}: ${ours}, Python has ${theirs}`);

for (const { name, state, rows, means, strongest } of cases) {
  const seen = seenOf(state);

  test(`${name}: every row is PyTorch's`, () => {
    for (const [map, row, expected] of rows)
      assert.deepEqual([...data.weights(seen, map, row)], expected, `map ${map}, row ${row}`);
  });

  test(`${name}: mean weights and the strongest heads are PyTorch's`, () => {
    means.forEach((expected, map) => {
      const ours = data.means(seen, map);
      for (const kind of ["first", "previous", "itself"]) close(ours[kind], expected[kind], `map ${map}, ${kind}`);
    });
    const found = data.strongest(seen);
    for (const [kind, map] of Object.entries(strongest)) assert.equal(found[kind].map, map, kind);
  });

  test(`${name}: shown and hidden weights of a row sum to 1`, () => {
    const last = data.weights(seen, 0, seen.n - 1);
    const shown = last.reduce((sum, weight) => sum + weight, 0);
    assert.ok(Math.abs(shown + hiddenWeight(seen, last) - 1) < 1e-5);
    assert.equal(hiddenWeight(seen, last) > 0.001, seen.n < seen.nTokens);
  });
}

test("the sentences carry the row's largest weight with three decimals", () => {
  const { state } = cases[0];
  const [seen, words] = [seenOf(state), state.words];
  const row = seen.n - 1;
  const weight = data.weights(seen, 0, row);
  const top = weight.indexOf(Math.max(...weight));
  const sentence = rowText(seen, words, { layer: 0, head: 0, row });
  assert.ok(sentence.includes(weight[top].toFixed(3)), sentence);
  assert.ok(sentence.includes(`'${seen.labels[top].replaceAll("␣", " ")}'`), sentence);
  assert.match(cellText(seen, 0, row, 0), new RegExp(`→ .*: ${weight[0].toFixed(3)}$`));
  assert.match(headText(seen, words, { layer: 0, head: 3 }), /heads 2 to 3 share KV head 1/);
});

test("arrow keys stay inside the grid; other keys are left alone", () => {
  const go = (key, from, ctrl = false) => data.step(key, ctrl, from, [30, 9]);
  assert.deepEqual(go("ArrowDown", [3, 2]), [4, 2]);
  assert.deepEqual(go("ArrowUp", [0, 2]), [0, 2]);
  assert.deepEqual(go("ArrowRight", [0, 8]), [0, 8]);
  assert.deepEqual(go("ArrowLeft", [0, 8]), [0, 7]);
  assert.deepEqual([go("Home", [7, 4]), go("End", [7, 4])], [[7, 0], [7, 8]]);
  assert.deepEqual([go("Home", [7, 4], true), go("End", [7, 4], true)], [[0, 0], [29, 8]]);
  assert.equal(go("d", [3, 2]), null);
  assert.equal(go("Tab", [3, 2]), null);
});

test("the colour scale is in gamut and its lightness moves one way, away from the page", () => {
  for (const dark of [false, true]) {
    const colours = data.ramp(dark);
    const light = colours.map(([r, g, b]) => 0.2126 * (r / 255) ** 2.2 + 0.7152 * (g / 255) ** 2.2 + 0.0722 * (b / 255) ** 2.2);
    for (const channel of colours.flat()) assert.ok(channel >= -0.5 && channel <= 255.5, `${dark} ${channel}`);
    for (let i = 1; i < 256; i++) assert.equal(light[i] > light[i - 1], dark);
    assert.ok((Math.max(...light) + 0.05) / (Math.min(...light) + 0.05) > 7);
  }
});

test("a place in the overview leads back to its head, with a gap between KV groups", () => {
  const shape = data.overviewShape({ nLayers: 30, nHeads: 9, nKv: 3 });
  for (let head = 0; head < 9; head++)
    assert.deepEqual(shape.at(shape.x(head) + 3, shape.y(17) + 3), [17, head]);
  assert.ok(shape.x(3) - shape.x(2) > shape.x(2) - shape.x(1));
  const plain = data.overviewShape({ nLayers: 2, nHeads: 4, nKv: 4 });
  assert.equal(plain.x(3) - plain.x(2), plain.x(1) - plain.x(0));
  const huge = data.overviewShape({ nLayers: 126, nHeads: 128, nKv: 8 });
  assert.ok(huge.width < 1200 && huge.side >= 6);
});

test("a place in the large map leads back to its cell; outside, to none; left-out tokens leave a gap", () => {
  const labels = Array.from({ length: 20 }, (_, i) => `␣${i}`);
  for (const nTokens of [20, 90]) {
    const shape = data.mapShape({ n: 20, labels, nTokens }, 600);
    for (const [row, column] of [[0, 0], [1, 1], [19, 0], [19, 19]])
      assert.deepEqual(shape.at(shape.left + shape.along(column) + 2, shape.top + shape.along(row) + 2), [row, column]);
    assert.deepEqual(shape.at(2, 2), [null, null]);
    assert.equal(shape.along(1) > shape.cell, nTokens > 20);
  }
});

test("labels too close to be read are left out, the selected one never", () => {
  const all = Array.from({ length: 60 }, (_, i) => i);
  assert.equal(all.filter((i) => data.written(i, 7, 18)).length, 60);
  const few = all.filter((i) => data.written(i, 7, 4));
  assert.ok(few.includes(7) && few.length < 25);
  few.slice(1).forEach((index, i) => assert.ok((index - few[i]) * 4 >= 10));
});

test("long labels are cut at whole characters; right-to-left ones cannot reorder a sentence", () => {
  assert.equal(data.short("𝔞".repeat(20)), "𝔞".repeat(13) + "…");
  assert.equal(data.short("short"), "short");
  assert.equal(data.short("我想吃苹果和梨子"), "我想吃苹果和…");
  assert.equal(data.isolate("'שלום'"), "\u2068'שלום'\u2069");
  assert.equal(data.isolate("' is'"), "' is'");
});
