// Below the tile explorer's picture: what the colours mean, and what was loaded, held and moved.
import { element, fill } from "./parts.js";
import { ramp } from "./attention_data.js";
import { isDark } from "./attention_draw.js";
import { countsAt, scoreRange } from "./flash_data.js";
import { countLines, scoreText } from "./flash_words.js";

/** What was loaded, held and moved, beside the whole matrix. */
export function countTable(flash, words) {
  const heads = [words.tiled, words.whole].map((name) => element("th", { scope: "col" }, name));
  const cells = {};
  const line = (name) => element("tr", {}, element("th", { scope: "row" }, words[name]), ...(cells[name] = [element("td"), element("td")]));
  const body = element("tbody", {}, ...["n_loaded", "n_skipped", "n_scores", "n_state", "n_moved", "n_to_move"].map(line));
  const note = element("p", { class: "tj-quiet tj-flash-note" });
  const table = element("table", { class: "tj-flash-counts" }, element("thead", {}, element("tr", {}, element("td"), ...heads)), body);
  const show = (walk, step) => {
    const counts = countsAt(flash, walk, step);
    for (const [name, texts] of Object.entries(countLines(words, counts)))
      texts.forEach((text, i) => (cells[name][i].textContent = text ?? "–"));
    note.textContent = counts.to_move > counts.naive ? words.more : words.fewer;
  };
  return { place: element("div", {}, table, note), show };
}

/** The key; `lay(walk)` with new tiles, `recolour()` with a new theme and once it stands on the page. */
export function flashLegend(words) {
  const scale = element("i", { class: "tj-flash-key tj-flash-key-score" });
  const name = element("span");
  const entry = (kind) => element("span", {}, element("i", { class: `tj-flash-key tj-flash-key-${kind}` }), words[`key_${kind}`]);
  const place = element("p", { class: "tj-quiet tj-flash-legend" }, element("span", {}, scale, name),
    ...["past", "hidden", "skipped", "mix", "done"].map(entry));
  const recolour = () => {
    const stops = ramp(isDark(place.parentNode)).filter((_, i) => i % 51 === 0).map((rgb) => `rgb(${rgb.map(Math.round)})`);
    place.style.setProperty("--tj-scale", `linear-gradient(to right, ${stops})`);
  };
  const lay = (walk) => {
    const [low, high] = scoreRange(walk).map(scoreText);
    name.textContent = fill(words.key_score, { low, high });
  };
  return { place, lay, recolour };
}
