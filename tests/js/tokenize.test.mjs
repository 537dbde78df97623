// What the tokenizer explorer computes and shows, against Python; the cases come from test_js_tokenize.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as bpeOf from "../../helpers/widgets/tokenize_bpe.js";
import { hex, runsOf, showBytes, visibleText } from "../../helpers/widgets/tokenize_labels.js";
import { bytes } from "../../helpers/widgets/static_model.js";

const cases = JSON.parse(readFileSync(process.env.TOKENIZE_CASES, "utf8"));

for (const { name, state, texts } of cases) {
  const view = bytes(state.triple_bytes);
  const triples = state.bytes_each === 2 ? new Uint16Array(view.buffer) : new Uint32Array(view.buffer);
  const bpe = bpeOf.readBpe({
    size: state.size, triples, byteIds: state.byte_ids, special: state.special, digitsAlone: state.digits_alone,
  });

  test(`${name}: the ids of ${texts.length} texts are the library's`, () => {
    for (const { text, ids } of texts) {
      const ready = bpeOf.prepareText(bpe, text);
      assert.deepEqual(bpeOf.idsAt(bpe, ready, ready.ranks.length), ids, JSON.stringify(text));
    }
  });

  test(`${name}: every step on the way is Python's`, () => {
    for (const { text, ranks, lengths, middle } of texts) {
      const ready = bpeOf.prepareText(bpe, text);
      assert.deepEqual(ready.ranks, ranks, JSON.stringify(text));
      assert.deepEqual(bpeOf.idsAt(bpe, ready, ranks.length >> 1), middle, JSON.stringify(text));
      const steps = ranks.length < 40 ? lengths.keys() : [0, ranks.length];
      for (const step of steps) assert.equal(bpeOf.idsAt(bpe, ready, step).length, lengths[step]);
    }
  });

  test(`${name}: labels, bytes and characters are Python's`, () => {
    for (const { text, ids, labels, raw, runs } of texts) {
      const pieces = ids.map((id) => bpeOf.bytesOf(bpe, id));
      assert.deepEqual(pieces.map(hex), raw);
      const shown = ids.map((id, i) => (bpe.textOf.has(id) ? visibleText(bpe.textOf.get(id)) : showBytes(pieces[i])));
      assert.deepEqual(shown, labels, JSON.stringify(text));
      if (runs) assert.deepEqual(runsOf(pieces), runs, JSON.stringify(text));
    }
  });
}

test("a pair is merged from the left, without overlap", () => {
  const bpe = bpeOf.readBpe({
    size: 3, triples: new Uint16Array([0, 0, 2]), byteIds: [0, 1], special: {}, digitsAlone: false,
  });
  assert.deepEqual(bpeOf.mergeWord(bpe, [0, 0, 0]), [2, 0]);
  assert.deepEqual(bpeOf.mergeWord(bpe, [0, 0, 0, 0, 1]), [2, 2, 1]);
  assert.deepEqual(bpeOf.mergeWord(bpe, [1, 0, 0], -1), [1, 0, 0]);
});

test("a thousand characters without a space are cut in less than a frame", () => {
  const { state } = cases[0];
  const bpe = bpeOf.readBpe({
    size: state.size, triples: new Uint16Array(bytes(state.triple_bytes).buffer), byteIds: state.byte_ids,
    special: state.special, digitsAlone: true,
  });
  const text = "我想吃苹果因为苹果好吃".repeat(91).slice(0, 1000);
  const times = Array.from({ length: 9 }, () => {
    const start = performance.now();
    const ready = bpeOf.prepareText(bpe, text);
    bpeOf.idsAt(bpe, ready, ready.ranks.length);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  assert.ok(times[0] < 16, `${times[0]} ms`);
});
