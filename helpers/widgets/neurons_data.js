// What the neuron explorer computes: no page, no drawing. U neurons, n positions, lists of k, m named tokens a side.
export const ORDERS = ["push", "strength"];

/** All that the model carries, read once; `floats` and `whole` are laid out as the Python class says. */
export function readNeurons(model) {
  const [floats, whole] = [aligned(model.get("floats"), Float32Array), aligned(model.get("whole"), Int32Array)];
  const tokens = model.get("tokens");
  const [n, nLayers, k, m] = [tokens.length, model.get("n_layers"), model.get("n_listed"), model.get("n_named")];
  const count = (floats.length - nLayers * n) / (1 + 2 * n);
  const take = (array) => { let at = 0; return (size) => array.subarray(at, (at += size)); };
  const [real, int] = [take(floats), take(whole)];
  return {
    norm: real(count), act: real(count * n), toAnswer: real(count * n), totals: real(nLayers * n),
    neuron: int(count), up: int(count * m), down: int(count * m), slots: int(2 * nLayers * n * k),
    labels: model.get("labels"), tokens, answers: model.get("answers"), positions: model.get("positions"),
    n, nLayers, k, m, dMlp: model.get("d_mlp"),
  };
}

function aligned(view, Kind) {
  return new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/** One neuron at one position: what it is, how active, how long a vector it writes, how hard it pushes. */
export function neuronAt(seen, one, at) {
  const act = seen.act[one * seen.n + at];
  return {
    one, neuron: seen.neuron[one], act,
    strength: Math.abs(act) * seen.norm[one], push: act * seen.toAnswer[one * seen.n + at],
  };
}

/** The strongest neurons of a block at a position, in the chosen order. */
export function listAt(seen, { layer, at, order }) {
  const start = ((ORDERS.indexOf(order) * seen.nLayers + layer) * seen.n + at) * seen.k;
  return Array.from(seen.slots.subarray(start, start + seen.k), (one) => neuronAt(seen, one, at));
}

/** The push of the whole FFN of a block at a position, and of what a list leaves out. */
export function pushes(seen, { layer, at }, list) {
  const total = seen.totals[layer * seen.n + at];
  return { total, rest: total - list.reduce((sum, { push }) => sum + push, 0) };
}

/** Activations of a neuron at all positions. */
export function activations(seen, one) {
  return seen.act.subarray(one * seen.n, (one + 1) * seen.n);
}

/** Labels of the tokens it pushes up and down where its activation is `act`: a negative one turns its vector round. */
export function promoted(seen, one, act) {
  const [up, down] = [seen.up, seen.down].map((ids) => Array.from(ids.subarray(one * seen.m, (one + 1) * seen.m), (i) => seen.labels[i]));
  return act >= 0 ? { up, down } : { up: down, down: up };
}
