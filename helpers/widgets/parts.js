// Parts that every explorer is put together from. No library; nothing is fetched.

/** An element with attributes (a function is a listener) and children (text is never read as HTML). */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Keep the keys of a focused control from the notebook, where D pressed twice deletes the cell. */
export function guard(control) {
  control.setAttribute("data-lm-suppress-shortcuts", "true"); // has no effect on a parent
  control.addEventListener("keydown", (event) => event.stopPropagation());
  return control;
}

/** A button; `press` is called on click, Enter and Space. */
export function button(label, press, attributes = {}) {
  return guard(element("button", { type: "button", class: "tj-button", click: press, ...attributes }, label));
}

/** A native slider over 0..steps; `input` is called with each position, `change` when it is let go. */
export function range(name, steps, { input, change }) {
  const control = element("input", {
    type: "range", class: "tj-range", min: 0, max: steps, step: 1, "aria-label": name,
    input: () => input(Number(control.value)),
    change: () => change(Number(control.value)),
  });
  return guard(control);
}

/** A region whose text a screen reader says when it changes: set it on `change`, not at every step of a drag. */
export function spokenRegion() {
  return element("p", { role: "status", "aria-live": "polite", class: "tj-spoken" });
}

/** "{kept} of {all}" with the values filled in. */
export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Call `changed(name, value)` when Python sets one of `names`; returns the function that stops it. */
export function follow(model, names, changed) {
  const listeners = names.map((name) => ["change:" + name, () => changed(name, model.get(name))]);
  for (const [event, listener] of listeners) model.on(event, listener);
  return () => listeners.forEach(([event, listener]) => model.off(event, listener));
}

/** Tell Python: set the values that differ and save them once. Call it on `change`, never while dragging. */
export function tell(model, values) {
  const changed = Object.entries(values).filter(([name, value]) => model.get(name) !== value);
  for (const [name, value] of changed) model.set(name, value);
  if (changed.length) model.save_changes();
}
