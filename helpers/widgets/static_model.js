// Stands in for a notebook's widget model on a page without a kernel: the same explorer module runs on it.

/** Base64 text as a DataView, the form in which a notebook hands over bytes. */
export function bytes(base64) {
  const text = atob(base64);
  const array = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) array[i] = text.charCodeAt(i);
  return new DataView(array.buffer);
}

export class StaticModel {
  /** `state`: trait name to value, a value of bytes written as { base64 }. */
  constructor(state) {
    this.state = {};
    this.listeners = {};
    for (const [name, value] of Object.entries(state))
      this.state[name] = value && value.base64 !== undefined ? bytes(value.base64) : value;
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    for (const listener of this.listeners["change:" + name] ?? []) listener();
  }
  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }
  off(event, listener) {
    this.listeners[event] = (this.listeners[event] ?? []).filter((other) => other !== listener);
  }
  save_changes() {} // no kernel listens
}
