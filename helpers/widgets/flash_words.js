// What the tile explorer says in words.
import { fill } from "./parts.js";
import { quote } from "./attention_words.js";
import { short } from "./attention_data.js";
import { commas } from "./lens_data.js";
import { differenceAt } from "./flash_data.js";

/** A factor below 1, to two digits that count; near 1 to four, so that it does not look like 1. */
export const factorText = (factor) => (factor > 0.99 ? factor.toFixed(4) : String(Number(factor.toPrecision(2))));
export const smallText = (value) => (value > 0 && value < 0.001 ? value.toExponential(1) : value.toFixed(3));
/** A score with one decimal where it fits; never "-0.0". */
export const scoreText = (score) => (Math.abs(score) < 100 ? score.toFixed(1).replace(/^-(0\.0)$/, "$1") : score.toFixed(0));

function spanText(flash, words, name, [from, to]) {
  const [first, last] = [from, to - 1].map((place) => quote(short(flash.labels[place], 12)));
  return fill(to - from === 1 ? words[name] : words[`${name}s`], { first, last });
}

function factorsText(words, factors) {
  const [low, high] = [Math.min(...factors), Math.max(...factors)].map(factorText);
  if (factors.length === 1 || low === high) return low;
  return fill(factors.length === 2 ? words.both : words.between, { low, high });
}

/** How each row of a tile fared: "first" scores, a "larger" one, "kept" what it had, or saw "none". */
export function changes({ scores, before, states }) {
  return states.map(({ maximum }, i) => {
    if (!scores || Math.max(...scores[i]) === -Infinity) return "none";
    if (before[i].maximum === -Infinity) return "first";
    return maximum > before[i].maximum ? "larger" : "kept";
  });
}

/** The tile at hand: what it is, and what it did to its rows. */
export function tileText(flash, words, walk, step) {
  const tile = walk[step];
  const hidden = tile.scores?.flat().filter((score) => score === -Infinity).length ?? 0;
  const values = { tile: step + 1, tiles: walk.length, hidden, scores: tile.scores?.flat().length,
    rows: spanText(flash, words, "row", tile.rows), columns: spanText(flash, words, "column", tile.columns) };
  const head = fill({ skipped: words.skipped_tile, partly: words.partly, whole: words.whole_tile }[tile.kind], values);
  return [head, ...effects(words, tile)].join(" ");
}

function effects(words, tile) {
  if (!tile.scores) return [];
  const fared = changes(tile);
  const rows = fared.length;
  const count = (kind) => fared.filter((one) => one === kind).length;
  const factors = tile.states.map(({ factor }) => factor).filter((_, i) => fared[i] === "larger");
  const larger = factors.length ? [fill(words.larger, { count: factors.length, rows, factors: factorsText(words, factors) })] : [];
  const begin = count("first") ? [fill(words.begin, { count: count("first"), rows })] : [];
  const kept = count("kept") && !factors.length ? [words.kept] : [];
  return [...begin, ...larger, ...kept];
}

/** What the rows still wait for, or how their result compares with the model's. */
export function resultText(flash, words, settings, walk, step) {
  const tile = walk[step];
  if (!tile.complete) return fill(words.unfinished, { left: walk.slice(step).findIndex(({ complete }) => complete) });
  const clip = (window) => (window === 0 || window >= flash.n ? 0 : window);
  const difference = smallText(differenceAt(flash, settings, tile));
  if (clip(settings.window) === flash.ownWindow) return `${words.done_rows} ${fill(words.same, { difference })}`;
  const own = flash.ownWindow ? fill(words.own_last, { window: flash.ownWindow }) : words.own_all;
  return `${words.done_rows} ${fill(words.other, { difference, own })}`;
}

/** The lines of the table: [tile by tile, whole matrix]; null where the matrix has no such number. */
export function countLines(words, counts) {
  const of = (now, all) => fill(words.of, { now: commas(now), all: commas(all) });
  return {
    n_loaded: [of(counts.loaded, counts.to_load), null],
    n_skipped: [of(counts.skipped, counts.to_skip), null],
    n_scores: [commas(counts.scores), commas(counts.all_scores)],
    n_state: [commas(counts.state), "0"],
    n_moved: [commas(counts.moved), null],
    n_to_move: [commas(counts.to_move), commas(counts.naive)],
  };
}
