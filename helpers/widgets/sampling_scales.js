// From a slider's position to a setting and back, and how numbers are written.

const PENALTY = spread(1, 2, 0.05);
const TEMPERATURE = spread(0, 2, 0.05);
const TOP_K = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500,
  1000, 2000, 5000, 10000, 20000, 50000, 100000];
const TOP_P = spread(0.01, 1, 0.01);
const MIN_P = [0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07,
  0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

function spread(from, to, step) {
  const values = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => from + i * step);
  return values.map((value) => Number(value.toFixed(2)));
}

/** For each setting: `steps`, `at(position)` → value, `position(value)` → the nearest one, `say(value, words)`. */
export function scales(vocabulary) {
  const topK = [...TOP_K.filter((k) => k < vocabulary), 0]; // off at the right end: further right keeps more
  return {
    repetition_penalty: scale(PENALTY, (value, words) => (value === 1 ? words.off : short(value))),
    temperature: scale(TEMPERATURE, (value, words) => (value === 0 ? words.greedy : short(value))),
    top_k: scale(topK, (value, words) => (value === 0 ? words.off : count(value)), (k) => (k === 0 ? Infinity : k)),
    top_p: scale(TOP_P, (value, words) => (value === 1 ? words.off : short(value))),
    min_p: scale(MIN_P, (value, words) => (value === 0 ? words.off : short(value))),
  };
}

function scale(values, say, size = (value) => value) {
  const position = (value) => {
    const distances = values.map((other) => apart(size(other), size(value)));
    return distances.indexOf(Math.min(...distances));
  };
  return { steps: values.length - 1, at: (i) => values[i], position, say };
}

const apart = (a, b) => (a === b ? 0 : Math.abs(a - b));

/** At least two decimals, at most four: 0.70, 1.00, 0.015. */
function short(value) {
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
}

/** 49152 → "49,152". */
export function count(number) {
  return number.toLocaleString("en-US");
}

/** A probability as a percentage: one decimal, two digits below 1%. */
export function percent(p) {
  if (p === 0 || p === 1) return `${100 * p}%`;
  if (p < 1e-5) return "<0.001%";
  if (p >= 0.9995) return ">99.9%";
  return `${p < 0.00995 ? (100 * p).toPrecision(2) : (100 * p).toFixed(1)}%`;
}
