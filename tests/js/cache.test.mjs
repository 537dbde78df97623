// What the KV cache explorer computes and says, against Python; the cases come from test_widgets_cache.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as data from "../../helpers/widgets/cache_data.js";
import { cacheShape } from "../../helpers/widgets/cache_grid.js";
import { countText, readText, stepText } from "../../helpers/widgets/cache_words.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.CACHE_CASES, "utf8"));

for (const { name, state, work, shares } of cases) {
  const [cache, words] = [data.readCache(new StaticModel(state)), state.words];

  test(`${name}: the work of every step is Python's`, () => {
    for (const [step, cached, expected, total] of work) {
      assert.deepEqual(data.stepWork(cache, step, cached), expected, `step ${step}, ${cached}`);
      assert.equal(data.workSoFar(cache, step, cached), total);
    }
  });

  test(`${name}: shares are the model's attention`, () => {
    for (const [step, block, expected] of shares)
      [...data.sharesAt(cache, step, block)].forEach((share, i) => assert.ok(Math.abs(share - expected[i]) < 1e-6));
  });

  test(`${name}: computed, read and later rows add up`, () => {
    for (let step = 0; step <= cache.nSteps; step++)
      for (const cached of [true, false]) {
        const states = cache.positions.map((position) => data.stateOf(cache, { step, cached }, position));
        const count = (kind) => states.filter((one) => one === kind).length;
        const { computed, read } = data.stepWork(cache, step, cached);
        const left = cache.positions[cache.positions.length - 1] + 1 - cache.labels.length;
        if (left === 0) assert.deepEqual([count("now"), count("read")], [computed, read]);
        assert.equal(count("later"), cache.nSteps - step);
        assert.equal(data.bytesKept(cache, step, cached), cached ? cache.rowBytes * (cache.nPrompt + step) : 0);
      }
  });

  test(`${name}: a place in the picture leads back to its block and column`, () => {
    const shape = cacheShape(cache, 800);
    for (const [block, column] of [[0, 0], [cache.nLayers - 1, cache.labels.length - 1]])
      assert.deepEqual(shape.at(shape.x(column) + 2, shape.y(block) + 2), [block, column]);
  });

  test(`${name}: the sentences name the counts`, () => {
    const last = cache.nSteps;
    assert.match(stepText(cache, words, { step: 0, cached: true }), new RegExp(`^Step 0.* ${cache.nPrompt} rows computed`));
    assert.match(stepText(cache, words, { step: last, cached: true }), new RegExp(`1 row computed, ${cache.nPrompt + last - 1} read`));
    assert.match(stepText(cache, words, { step: last, cached: false }), new RegExp(`all ${cache.nPrompt + last} rows computed`));
    const { index, weight, hidden } = data.mostRead(cache, last, 0);
    const sentence = readText(cache, words, { step: last, block: 0 });
    assert.ok(sentence.includes(`(${weight.toFixed(3)})`) && sentence.includes(cache.labels[index].replaceAll("␣", " ")), sentence);
    assert.equal(sentence.includes("not shown"), hidden > 0.001);
  });
}

test("counts are written out where they are small", () => {
  const words = cases[0].state.words;
  assert.equal(countText(words, 46080), "46,080");
  assert.equal(countText(words, 106_617_600), "107 million");
});
