// What the lens explorer says in words.
import { fill } from "./parts.js";
import { quote } from "./attention_words.js";
import { cellAt, commas, shareText } from "./lens_data.js";

/** "After 16 of 30 blocks, at ' is': ',' with 41.2%." and how far the final answer is. */
export function lensText(lens, words, { depth, column }) {
  const { top, answer, bits } = cellAt(lens, depth, column);
  const values = { depth, layers: lens.nLayers, token: quote(lens.tokens[column]), guess: quote(top[0].label) };
  const says = fill(words.says, { ...values, share: shareText(top[0].share) });
  const found = { answer: quote(answer.label), rank: commas(answer.rank), share: shareText(answer.share) };
  const verdict = top[0].isAnswer ? words.is_answer : fill(words.not_answer, found);
  return `${says} ${verdict} ${fill(words.bits, { bits: bits.toFixed(1) })}`;
}
