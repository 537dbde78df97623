// What the rotation explorer computes and says, against PyTorch; the cases come from test_widgets_rotation.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as maths from "../../helpers/widgets/rotation_math.js";
import { angleText, periodText } from "../../helpers/widgets/rotation_draw.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.ROTATION_CASES, "utf8"));
const close = (ours, theirs, name) =>
  assert.ok(Math.abs(ours - theirs) < 1e-6, `${name}: ${ours}, Python has ${theirs}`);

for (const { name, state, settings } of cases) {
  const seen = maths.readRotation(new StaticModel(state));
  const place = (position) => seen.positions.indexOf(position);

  test(`${name}: every pair's part and the score are PyTorch's`, () => {
    for (const { query, key, m, n, shift, head, parts, score } of settings) {
      const vectors = maths.selected(seen, { query: place(query), key: place(key), head });
      const ours = maths.pairParts(seen, vectors, m + shift, n + shift);
      parts.forEach((part, i) => close(ours[i], part, `pair ${i} at ${m}, ${n}, ${shift}`));
      close(maths.total(ours), score, "score");
      assert.equal(ours.length, parts.length);
    }
  });

  test(`${name}: moving both leaves the score, and the curve has it at their distance`, () => {
    for (const { query, key, m, n, head } of settings) {
      const vectors = maths.selected(seen, { query: place(query), key: place(key), head });
      const score = maths.total(maths.pairParts(seen, vectors, m, n));
      for (const shift of [1, 77, 8000]) close(maths.total(maths.pairParts(seen, vectors, m + shift, n + shift)), score, `moved by ${shift}`);
      const { distances, all, one } = maths.byDistance(seen, vectors, 0);
      close(all[distances.indexOf(m - n)], score, "curve");
      close(one[distances.indexOf(m - n)], maths.pairParts(seen, vectors, m, n)[0], "curve of one pair");
    }
  });

  test(`${name}: no part is larger than its pair's arrows allow`, () => {
    const { query, key, head } = settings[0];
    const vectors = maths.selected(seen, { query: place(query), key: place(key), head });
    const most = maths.mostOfPairs(seen, vectors);
    for (const m of [0, 1, 5, 128]) maths.pairParts(seen, vectors, m, 0).forEach((part, i) => assert.ok(Math.abs(part) <= most[i] + 1e-9));
  });
}

test("a quarter turn takes right to up, and lengths stay", () => {
  const [x, y] = maths.turned(1, 0, Math.PI / 2);
  assert.ok(Math.abs(x) < 1e-12 && Math.abs(y - 1) < 1e-12);
  assert.ok(Math.abs(Math.hypot(...maths.turned(3, 4, 123.4)) - 5) < 1e-12);
});

test("angles are said in turns and degrees", () => {
  const { words } = cases[0].state;
  assert.equal(angleText(words, Math.PI / 2), "90.0°");
  assert.equal(angleText(words, 2 * Math.PI + 1), "1 turn and 57.3°");
  assert.equal(angleText(words, 8000), "1,273 turns and 86.2°");
  assert.equal(periodText(words, 1), "a full turn every 6.3 positions");
  assert.equal(periodText(words, 2 * Math.PI / 54321), "a full turn every 54,321 positions");
  assert.equal(periodText(words, 0), "it does not turn");
});

test("the strongest pair is the one of the largest size, whatever its sign", () => {
  assert.equal(maths.strongestPair(Float64Array.of(1, -3, 2)), 1);
});
