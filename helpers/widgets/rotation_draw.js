// The three drawings of the rotation explorer: one pair large, all pairs small, the score by distance.
import { element, fill } from "./parts.js";
import { put, svg } from "./attention_draw.js";
import { turned, turnsAndDegrees } from "./rotation_math.js";

const HAND = { query: "tj-rot-query", key: "tj-rot-key" };
const line = (kind) => svg("line", { class: kind, x1: 0, y1: 0 });
const format = (value) => value.toFixed(2);

/** A pair as an arrow: y points up on the page. */
const tip = ([x, y], length) => ({ x2: format(x * length), y2: format(-y * length) });

/** The part of a circle from one direction on by `angle`, at most one turn, as a path. */
function arc(from, angle, radius) {
  const sweep = Math.min(angle, 2 * Math.PI - 0.001);
  const at = (a) => `${format(radius * Math.cos(a))} ${format(-radius * Math.sin(a))}`;
  return `M${at(from)}A${radius} ${radius} 0 ${sweep > Math.PI ? 1 : 0} 0 ${at(from + sweep)}`;
}

/** An angle in words: "2 turns and 41.1°". */
export function angleText(words, angle) {
  const [turns, degrees] = turnsAndDegrees(angle);
  const name = turns === 0 ? words.no_turns : turns === 1 ? words.one_turn : words.turns;
  return fill(name, { turns: turns.toLocaleString("en"), degrees: degrees.toFixed(1) });
}

/** How often a pair comes round. */
export function periodText(words, frequency) {
  const n = (2 * Math.PI) / frequency;
  return frequency ? fill(words.full_turn, { n: n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en") }) : words.never;
}

/** The selected pair: where both arrows were, where they are, and the way between. */
export function dial(words) {
  const [size, reach] = [230, 88];
  const drawing = svg("svg", { width: size, height: size, viewBox: `${-size / 2} ${-size / 2} ${size} ${size}`, "aria-hidden": "true" });
  const marks = {};
  drawing.append(svg("circle", { r: reach, class: "tj-rot-circle" }), svg("path", { d: `M-${reach + 8} 0H${reach + 8}M0 -${reach + 8}V${reach + 8}`, class: "tj-rot-axis" }));
  for (const [name, kind] of Object.entries(HAND)) {
    marks[name] = { before: line(`${kind} tj-rot-before`), after: line(`${kind} tj-rot-after`), way: svg("path", { class: `${kind} tj-rot-way` }), head: svg("circle", { r: 4.5, class: `${kind} tj-rot-head` }) };
    drawing.append(...Object.values(marks[name]));
  }
  const title = element("p", { class: "tj-rot-title" });
  const notes = { query: element("span", { class: "tj-rot-note tj-rot-query" }), key: element("span", { class: "tj-rot-note tj-rot-key" }) };
  const box = element("div", { class: "tj-rot-dial" }, title, drawing, element("div", { class: "tj-rot-notes" }, notes.query, notes.key));
  const show = (pair, frequency, arrows) => {
    title.textContent = fill(words.dial, { pair, turn: periodText(words, frequency) });
    const longest = Math.max(...Object.values(arrows).map(({ x, y }) => Math.hypot(x, y))) || 1;
    Object.entries(arrows).forEach(([name, { x, y, angle }], i) => {
      const { before, after, way, head } = marks[name];
      const [end, radius] = [tip(turned(x, y, angle), reach / longest), 30 + 12 * i];
      put(before, tip([x, y], reach / longest));
      put(after, end);
      put(head, { cx: end.x2, cy: end.y2 });
      put(way, { d: arc(Math.atan2(y, x), angle, radius) });
      notes[name].textContent = fill(words.turned, { name: words[`the_${name}`], angle: angleText(words, angle) });
    });
  };
  return { box, show };
}

/** All pairs as clocks with a bar below each; `choose(pair)` when one is clicked. */
export function clocks(nPairs, words, choose) {
  const across = nPairs > 32 ? 16 : Math.min(8, nPairs);
  const [step, radius] = nPairs > 32 ? [30, 11] : [52, 19];
  const tall = step + 12;
  const [width, height] = [across * step, Math.ceil(nPairs / across) * tall];
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "tj-rot-clocks", role: "img", "aria-label": words.clocks, style: `max-width: ${1.3 * width}px` });
  const marks = Array.from({ length: nPairs }, (_, i) => {
    const place = svg("g", { transform: `translate(${(i % across) * step + step / 2} ${Math.floor(i / across) * tall + radius + 4})` });
    const ring = svg("circle", { r: radius, class: "tj-rot-clock" });
    const [query, key] = [line(HAND.query), line(HAND.key)];
    const bar = svg("rect", { y: radius + 4, height: 5 });
    place.append(ring, query, key, svg("path", { d: `M0 ${radius + 3}v7`, class: "tj-rot-axis" }), bar,
      svg("text", { x: -radius, y: 4 - radius, class: "tj-rot-number" }, i));
    place.addEventListener("pointerdown", () => choose(i));
    return { place, ring, query, key, bar };
  });
  drawing.append(...marks.map(({ place }) => place));
  const show = (hands, parts, most, pair) => marks.forEach(({ place, query, key, bar }, i) => {
    put(query, tip(hands.query[i], radius - 2));
    put(key, tip(hands.key[i], radius - 2));
    const long = Math.sqrt(Math.abs(parts[i]) / most) * (step / 2 - 2); // one pair often outweighs all others
    put(bar, { x: format(parts[i] < 0 ? -long : 0), width: format(long), class: parts[i] < 0 ? "tj-rot-less" : "tj-rot-more" });
    place.classList.toggle("tj-rot-on", i === pair);
  });
  return { box: drawing, show };
}

/** The score at every distance, of all pairs and of one; a mark at the present distance. */
export function curve(words) {
  const [height, left, right, top, below] = [186, 44, 16, 24, 34];
  const drawing = svg("svg", { height, class: "tj-rot-curve", role: "img", "aria-label": words.curve });
  const label = (anchor, attributes = {}, text = "") => svg("text", { "text-anchor": anchor, ...attributes }, text);
  const marks = {
    future: svg("rect", { x: left, y: top, height: height - top - below, class: "tj-rot-future" }),
    zero: svg("path", { class: "tj-rot-axis" }), one: svg("path", { class: "tj-rot-line tj-rot-alone" }),
    all: svg("path", { class: "tj-rot-line tj-rot-whole" }), now: svg("path", { class: "tj-rot-now" }),
    dot: svg("circle", { r: 5, class: "tj-rot-dot" }),
  };
  const numbers = ["high", "low", "nought"].map(() => label("end", { x: left - 6 }));
  const ticks = [-1, -0.5, 0, 0.5, 1].map((share) => [share, label("middle", { y: height - below + 14 })]);
  const axis = label("middle", { y: height - 4 }, words.distance);
  drawing.append(...Object.values(marks), ...numbers, ...ticks.map(([, tick]) => tick), axis,
    label("start", { x: left, y: top - 8 }, words.masked));
  let [width, data, place] = [720, null, null];
  const draw = (newData) => {
    data = newData;
    const { distances, all, one } = data;
    const values = [...all, ...one, 0];
    const [low, high, far] = [Math.min(...values), Math.max(...values), distances.at(-1)];
    const x = (distance) => left + ((distance + far) / (2 * far)) * (width - left - right);
    const y = (value) => top + ((high - value) / (high - low || 1)) * (height - top - below);
    const path = (ys) => `M${ys.map((value, i) => `${format(x(distances[i]))} ${format(y(value))}`).join("L")}`;
    place = { x, y };
    drawing.setAttribute("width", width);
    put(marks.all, { d: path(all) });
    put(marks.one, { d: path(one) });
    put(marks.zero, { d: `M${left} ${format(y(0))}H${width - right}` });
    put(marks.future, { width: format(x(0) - left) });
    put(axis, { x: format(x(0)) });
    [high, low, 0].forEach((value, i) => {
      put(numbers[i], i < 2 && Math.abs(y(0) - y(value)) < 12 ? null : { y: format(y(value) + 4) });
      numbers[i].textContent = value.toFixed(i < 2 ? 1 : 0).replace("-", "−");
    });
    for (const [share, tick] of ticks) {
      put(tick, { x: format(x(share * far)) });
      tick.textContent = String(Math.round(share * far)).replace("-", "−");
    }
  };
  const show = (distance, score) => {
    put(marks.now, { d: `M${format(place.x(distance))} ${top}V${height - below}` });
    put(marks.dot, { cx: format(place.x(distance)), cy: format(place.y(score)) });
  };
  const resize = (room) => {
    width = Math.max(300, room);
    draw(data);
  };
  return { box: drawing, draw, show, resize };
}
