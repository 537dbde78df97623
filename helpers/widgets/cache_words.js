// What the KV cache explorer says in words.
import { fill } from "./parts.js";
import { format, quote } from "./attention_words.js";
import { mostRead, newestColumn, stepWork } from "./cache_data.js";
import { commas } from "./lens_data.js";

const newest = (cache, step) => {
  const column = newestColumn(cache, step);
  return column === null ? "…" : quote(cache.labels[column]);
};

/** What the step computes and reads. */
export function stepText(cache, words, { step, cached }) {
  const { computed, read } = stepWork(cache, step, cached);
  if (step === 0) return fill(words.prefill, { computed });
  const values = { step, token: newest(cache, step), position: cache.nPrompt + step - 1, computed, read, repeated: computed - 1 };
  return fill(cached ? words.cached : words.again, values);
}

/** What the new token reads most in the selected block. */
export function readText(cache, words, { step, block }) {
  if (step === 0) return cache.nSteps ? words.reads_none : "";
  const { index, weight, hidden } = mostRead(cache, step, block);
  const values = { block, token: newest(cache, step), to: quote(cache.labels[index]), weight: format(weight) };
  const rest = hidden > 0.001 ? ` ${fill(words.hidden, { weight: format(hidden) })}` : "";
  return fill(words.reads, values) + rest;
}

/** A count: whole where it is small, in millions with one decimal where it is large. */
export function countText(words, count) {
  return count < 1e7 ? commas(count) : fill(words.million, { n: commas((count / 1e6).toFixed(0)) });
}
