// What the tile explorer computes and says, against Python; the cases come from test_widgets_flash.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as data from "../../helpers/widgets/flash_data.js";
import { flashShape } from "../../helpers/widgets/flash_grid.js";
import { curve, newestTile } from "../../helpers/widgets/flash_rows.js";
import { changes, countLines, factorText, resultText, scoreText, smallText, tileText } from "../../helpers/widgets/flash_words.js";
import { StaticModel } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.FLASH_CASES, "utf8"));
const number = (value) => value ?? -Infinity; // JSON has no infinity

function close(ours, theirs, what) {
  if (Array.isArray(theirs)) return theirs.forEach((value, i) => close(ours[i], value, `${what} ${i}`));
  const expected = number(theirs);
  assert.ok(ours === expected || Math.abs(ours - expected) <= 1e-6 * Math.max(1, Math.abs(expected)), `${what}: ${ours}, not ${expected}`);
}

for (const { name, state, settings, steps, counts, differences } of cases) {
  const [flash, words] = [data.readFlash(new StaticModel(state)), state.words];
  const walk = data.walkTiles(flash, settings);

  test(`${name}: tiles are Python's`, () => {
    const plain = walk.map(({ rows, columns, kind, complete }) => ({ rows, columns, kind, complete }));
    assert.deepEqual(plain, steps.map(({ rows, columns, kind, complete }) => ({ rows, columns, kind, complete })));
  });

  test(`${name}: scores and the state after every tile are Python's`, () => {
    steps.forEach(({ scores, factor, maximum, total, mixed }, i) => {
      if (scores === null) assert.equal(walk[i].scores, null);
      else close(walk[i].scores, scores, `scores ${i}`);
      const field = (key) => walk[i].states.map((row) => row[key]);
      for (const [key, expected] of Object.entries({ factor, maximum, total, mixed })) close(field(key), expected, `${key} ${i}`);
    });
  });

  test(`${name}: what was loaded, held and moved, and how far the result is from the model's`, () => {
    counts.forEach((expected, i) => assert.deepEqual(data.countsAt(flash, walk, i), expected, `step ${i}`));
    differences.forEach((expected, i) => {
      const ours = data.differenceAt(flash, settings, walk[i]);
      if (expected === null) assert.equal(ours, null);
      else assert.ok(Math.abs(ours - expected) < 1e-12, `${ours}, not ${expected}`);
    });
  });

  test(`${name}: a score is hidden exactly where a row may not look`, () => {
    for (const { rows, columns, scores } of walk.filter((tile) => tile.scores))
      data.span(rows).forEach((row, i) => data.span(columns).forEach((column, j) =>
        assert.equal(scores[i][j] > -Infinity, data.maySee(settings.window, row, column))));
  });

  test(`${name}: a step's sentence tells what its rows show`, () => {
    walk.forEach((tile, i) => {
      const sentence = tileText(flash, words, walk, i);
      assert.ok(sentence.startsWith(`Tile ${i + 1} of ${walk.length}: row`), sentence);
      assert.equal(sentence.includes("skipped."), tile.kind === "skipped");
      assert.equal(sentence.includes("the mask hides"), tile.kind === "partly");
      const larger = steps[i].factor.filter((factor, row) => factor < 1 && i > 0 && tile.before[row].total > 0);
      assert.equal(sentence.includes("rescaled what they had"), larger.length > 0, sentence);
      if (larger.length) assert.ok(sentence.includes(`${larger.length} of ${tile.states.length} rows found`), sentence);
      for (const factor of larger.length < 3 ? larger : []) assert.ok(sentence.includes(factorText(factor)), sentence);
      assert.equal(changes(tile).filter((one) => one === "larger").length, larger.length);
    });
  });

  test(`${name}: the result is called done at the last tile of its rows alone`, () => {
    walk.forEach((tile, i) => {
      const said = resultText(flash, words, settings, walk, i);
      assert.equal(said.includes("divided by the total, done"), tile.complete);
      if (tile.complete) assert.ok(said.includes(smallText(differences[i])), said);
      else assert.ok(said.includes(`${walk.slice(i).findIndex(({ complete }) => complete)} more to come`), said);
      const clip = settings.window >= flash.n ? 0 : settings.window;
      assert.equal(said.includes("its rows see"), tile.complete && clip !== state.own_window);
    });
  });

  test(`${name}: a row shows its newest tile`, () => {
    for (const row of data.span(walk[0].rows)) {
      const own = walk.flatMap(({ rows }, i) => (rows[0] <= row && row < rows[1] ? [i] : []));
      assert.deepEqual([newestTile(walk, own[0], row), newestTile(walk, walk.length - 1, row)], [own[0], own[own.length - 1]]);
      if (own[0] > 0) assert.equal(newestTile(walk, own[0] - 1, row), -1);
    }
  });

  test(`${name}: a place in the picture leads back to its row and column`, () => {
    for (const room of [300, 900]) {
      const shape = flashShape(flash, room);
      for (const [row, column] of [[0, 0], [flash.n - 1, flash.n - 1]])
        assert.deepEqual(shape.at(shape.x(column) + 1, shape.y(row) + 1), [row, column]);
    }
  });
}

test("keys go from tile to tile, and to the same columns of other rows", () => {
  const walk = data.tilesOf(13, { block_q: 4, block_k: 5, window: 0, decode: false }); // 4 by 3 tiles
  assert.deepEqual(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "a"].map((key) => data.stepBy(key, walk, 4)),
    [3, 5, 1, 7, 0, 11, null]);
  assert.deepEqual([data.stepBy("ArrowLeft", walk, 0), data.stepBy("ArrowDown", walk, 11)], [0, 11]);
});

test("a row that sees nothing in a tile keeps what it has, and a first score starts it", () => {
  const before = { maximum: -Infinity, total: 0, mixed: new Float64Array(2), factor: 1 };
  assert.deepEqual(data.addScores(before, [-Infinity], [[1, 2]]), before);
  const first = data.addScores(before, [5], [[1, 2]]);
  assert.deepEqual(first, { maximum: 5, total: 1, mixed: new Float64Array([1, 2]), factor: 0 });
  assert.deepEqual(data.addScores(first, [-Infinity], [[1, 2]]), { ...first, factor: 1 });
  assert.deepEqual(Array.from(data.divided(before)), [0, 0]);
});

test("an older maximum that was very much smaller leaves nothing, and is not called the first", () => {
  const before = { maximum: -1000, total: 1, mixed: new Float64Array([1]), factor: 1 };
  const after = data.addScores(before, [0], [[3]]);
  assert.deepEqual(after, { maximum: 0, total: 1, mixed: new Float64Array([3]), factor: 0 });
  assert.deepEqual(changes({ scores: [[0]], before: [before], states: [after] }), ["larger"]);
});

test("numbers are written so that they do not mislead", () => {
  assert.deepEqual([0.12345, 0.9987, 1e-9, 0].map(factorText), ["0.12", "0.9987", "1e-9", "0"]);
  assert.deepEqual([0, 1.23e-7, 0.0012, 0.5].map(smallText), ["0.000", "1.2e-7", "0.001", "0.500"]);
  assert.deepEqual([-0.02, -0.06, 12.34, -345.6].map(scoreText), ["0.0", "-0.1", "12.3", "-346"]);
  assert.deepEqual(countLines(cases[0].state.words, cases[0].counts[0]).n_to_move, ["18,480", "14,592"]);
});

test("the curve rises with the square root, and its zero is the middle", () => {
  assert.equal(curve([4, -1, 0], 4, 22), "M19.3 1.0L58.0 16.0L96.7 11.0");
  assert.equal(curve([0], 0, 22), "M58.0 11.0");
});
