// The states of the generation explorer: a tree of computed steps, the present path, the branches that were gone.
// A path is the token ids after the prompt. A row is [id, label, probability before the settings, after them].

const keyOf = (path) => path.join(" ");

/** Steps by path; `nodes`: [{ path, text, ended, n_kept, alternatives: rows }, …]. */
export function readTree(nodes) {
  return addNodes(new Map(), nodes);
}

/** A step that comes again replaces the one that was there. */
export function addNodes(tree, nodes) {
  for (const node of nodes) tree.set(keyOf(node.path), node);
  return tree;
}

/** What is known at `path`, or null: that takes a kernel. */
export function nodeAt(tree, path) {
  return tree.get(keyOf(path)) ?? null;
}

/** The row of the token at place `i` of a path, or null where it is not known. */
export function takenAt(tree, path, i) {
  return nodeAt(tree, path.slice(0, i))?.alternatives.find(([id]) => id === path[i]) ?? null;
}

/** Rows likeliest first: after the settings, then before them. */
export function ranked(node) {
  return [...node.alternatives].sort((a, b) => b[3] - a[3] || b[2] - a[2]);
}

/** The id that a number in [0, 1) draws; null when it falls beyond the first `listed` tokens. */
export function pick(node, uniform, listed) {
  let left = uniform;
  for (const [id, , , after] of ranked(node).slice(0, listed)) {
    left -= after;
    if (left < 0) return id;
  }
  return node.n_kept <= listed ? ranked(node).findLast(([, , , after]) => after > 0)[0] : null; // the last bits of the sum
}

export const isBeginning = (short, long) => short.length <= long.length && short.every((id, i) => id === long[i]);

/** The branches after a step to `path`: one that it lengthens is replaced, a place on a branch adds none. */
export function grown(branches, path) {
  if (!path.length || branches.some((branch) => isBeginning(path, branch))) return branches;
  const at = branches.findIndex((branch) => isBeginning(branch, path));
  return at < 0 ? [...branches, path] : branches.map((branch, i) => (i === at ? path : branch));
}

/** A state is { path, branches }; each of these returns the next one. */
export const take = (state, id) => goTo(state, [...state.path, id]);
export const back = (state) => goTo(state, state.path.slice(0, -1));
export const goTo = (state, path) => ({ path, branches: grown(state.branches, path) });
export const removed = (state, n) => {
  const branches = state.branches.filter((_, i) => i !== n);
  const stays = branches.some((branch) => isBeginning(state.path, branch));
  return { path: stays ? state.path : [], branches };
};

/** ln of the probability the model itself gives the path; null where a step of it is not known. */
export function logProb(tree, path) {
  const rows = path.map((_, i) => takenAt(tree, path, i));
  return rows.includes(null) ? null : rows.reduce((sum, [, , before]) => sum + Math.log(before), 0);
}

/** How many tokens at the front two paths share. */
export function shared(a, b) {
  const differ = a.findIndex((id, i) => id !== b[i]);
  return differ < 0 ? a.length : differ;
}
