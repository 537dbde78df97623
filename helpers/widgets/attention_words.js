// What the attention explorer says in words.
import { fill } from "./parts.js";
import { isolate, means, weights } from "./attention_data.js";

export const format = (weight) => weight.toFixed(3);
export const quote = (label) => isolate(`'${label.replaceAll("␣", " ")}'`);

/** "' is' → ' France': 0.410" */
export function cellText(seen, map, row, column) {
  return `${quote(seen.labels[row])} → ${quote(seen.labels[column])}: ${format(weights(seen, map, row)[column])}`;
}

/** What the selected row shows, in one sentence, and what lies on tokens that are not shown. */
export function rowText(seen, words, { layer, head, row }) {
  const weight = weights(seen, layer * seen.nHeads + head, row);
  const top = weight.indexOf(Math.max(...weight));
  const values = { layer, head, from: quote(seen.labels[row]), to: quote(seen.labels[top]), weight: format(weight[top]) };
  const rest = hiddenWeight(seen, weight);
  return fill(words.row, values) + (rest > 0.0005 ? ` ${fill(words.rest, { weight: format(rest) })}` : "");
}

/** Weight of a row on the tokens left out; 0 where all are shown. */
export function hiddenWeight(seen, weight) {
  if (seen.nTokens === seen.n || weight.length < 2) return 0;
  return Math.max(0, 1 - weight.reduce((sum, value) => sum + value, 0));
}

/** Which KV head the head reads, with whom, and where it looks on average. */
export function headText(seen, words, { layer, head }) {
  const size = seen.nHeads / seen.nKv;
  const kv = Math.floor(head / size);
  const group = size > 1 ? `${fill(words.group, { first: kv * size, last: kv * size + size - 1, kv })} ` : "";
  if (seen.n < 2) return group + words.alone;
  const mean = Object.entries(means(seen, layer * seen.nHeads + head)).map(([kind, value]) => [kind, format(value)]);
  return group + fill(words.means, Object.fromEntries(mean));
}
