// What the lens explorer reads and says, against PyTorch; the cases come from test_widgets_lens.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ramp } from "../../helpers/widgets/attention_data.js";
import * as data from "../../helpers/widgets/lens_data.js";
import { lensText } from "../../helpers/widgets/lens_words.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.LENS_CASES, "utf8"));
const lensOf = (state) => data.readLens(new StaticModel(state));
const close = (ours, theirs, name) => assert.ok(Math.abs(ours - theirs) < 1e-6, `${name}: ${ours}, Python has ${theirs}`);

for (const { name, state, labels, probs, bits, answers, answer_probs, ranks, heights } of cases) {
  const lens = lensOf(state);
  const each = (check) => ranks.forEach((row, depth) => row.forEach((_, column) => check(depth, column)));

  test(`${name}: every cell is PyTorch's`, () => each((depth, column) => {
    const [cell, at] = [data.cellAt(lens, depth, column), `depth ${depth}, column ${column}`];
    assert.deepEqual(cell.top.map((token) => token.label), labels[depth][column], at);
    cell.top.forEach((token, i) => close(token.share, probs[depth][column][i], at));
    close(cell.bits, bits[depth][column], at);
    close(cell.answer.share, answer_probs[depth][column], at);
    assert.equal(cell.answer.label, answers[column], at);
    assert.equal(cell.answer.rank, ranks[depth][column], at);
  }));

  test(`${name}: the answer is marked exactly where its rank says so`, () => each((depth, column) => {
    const { top, answer } = data.cellAt(lens, depth, column);
    assert.deepEqual(top.map((token) => token.isAnswer), top.map((_, i) => i === answer.rank - 1));
  }));

  test(`${name}: colours follow probability and rank`, () => each((depth, column) => {
    close(data.strength(lens, "guess", depth, column), probs[depth][column][0], "guess");
    close(data.strength(lens, "answer", depth, column), heights[depth][column], "answer");
    assert.equal(data.courseOf(lens, column)[depth], ranks[depth][column]);
  }));

  test(`${name}: the sentence carries the cell's own numbers`, () => {
    const [depth, column] = [lens.nLayers, lens.tokens.length - 1];
    const whole = lensText(lens, state.words, { depth, column });
    assert.ok(whole.includes("It is the final answer.") && whole.includes(data.shareText(probs[depth][column][0])), whole);
    const early = ranks.findIndex((row) => row[column] > 1);
    if (early < 0) return;
    const sentence = lensText(lens, state.words, { depth: early, column });
    assert.ok(sentence.startsWith(`After ${early} of ${lens.nLayers} blocks`), sentence);
    assert.ok(sentence.includes(`rank ${data.commas(ranks[early][column])},`), sentence);
    assert.ok(sentence.endsWith(`Entropy ${bits[early][column].toFixed(1)} bits.`), sentence);
  });
}

test("text on every colour of the scale can be read", () => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  for (const dark of [false, true])
    for (const rgb of ramp(dark)) {
      const [r, g, b] = rgb.map((c) => linear(Math.max(0, Math.min(255, c)) / 255));
      const ground = 0.2126 * r + 0.7152 * g + 0.0722 * b;
      const ink = data.inkOn(rgb) === "#fff" ? 1 : 0;
      const contrast = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
      assert.ok(contrast >= 4.5, `${rgb}: ${contrast}`);
    }
});

test("numbers are written to be read", () => {
  assert.deepEqual([1, 999, 1000, 49152, 1234567].map(data.commas), ["1", "999", "1,000", "49,152", "1,234,567"]);
  assert.deepEqual([0, 1, 0.653, 0.0004, 0.0005].map(data.shareText), ["0.0%", "100.0%", "65.3%", "<0.1%", "0.1%"]);
  assert.deepEqual([data.height(1, 49152), data.height(49152, 49152), data.height(1, 1)], [1, 0, 1]);
});
