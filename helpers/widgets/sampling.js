// The sampling explorer: which tokens each step keeps, and how likely they are then.

import { element, button, range, spokenRegion, fill, follow, tell } from "./parts.js";
import { STEPS, OFF, prepare, sample, seeded, draw } from "./sampling_math.js";
import { scales, percent, count } from "./sampling_scales.js";
import { chart } from "./sampling_chart.js";

const DRAWN = 12;

function render({ model, el }) {
  const words = model.get("words");
  const logits = new Float32Array(aligned(model.get("logit_bytes")));
  const context = model.get("context_ids");
  const ids = new Int32Array(aligned(model.get("label_bytes")));
  const labels = new Map(model.get("labels").map((label, i) => [ids[i], label]));
  const prepared = prepare(logits, context);
  const settings = Object.fromEntries(STEPS.map((name) => [name, model.get(name)]));
  let followed = sample(prepared, settings).order[0];
  let random = seeded(1);

  const spoken = spokenRegion();
  const summary = element("p", { class: "tj-summary", "aria-hidden": "true" });
  const drawn = element("span", { class: "tj-drawn", "aria-live": "polite" });
  const bars = chart(words, labels, (id) => { followed = id; show(); });
  const follows = element("span", { class: "tj-mono" });
  const original = element("span", { class: "tj-share" });
  const scale = scales(logits.length);
  const steps = STEPS.map((name, i) => step(name, i));

  function step(name, i) {
    const title = words[name];
    const value = element("span", { class: "tj-value" });
    const effect = element("span", { class: "tj-effect" });
    const share = element("span", { class: "tj-share" });
    const slider = range(title, scale[name].steps, {
      input: (position) => { settings[name] = scale[name].at(position); drawn.replaceChildren(); show(); },
      change: () => { tell(model, settings); say(); },
    });
    slider.disabled = name === "repetition_penalty" && !context.length;
    const box = element("div", { class: "tj-step", "data-step": name },
      element("span", { class: "tj-name" }, `${i + 1} · ${title}`), value, slider, effect, share);
    return { name, box, slider, value, effect, share };
  }

  function show() {
    const outcome = sample(prepared, settings);
    const rank = outcome.order.indexOf(followed);
    let before = outcome.kept.repetition_penalty;
    for (const { name, slider, value, effect, share } of steps) {
      const said = scale[name].say(settings[name], words);
      slider.value = scale[name].position(settings[name]);
      slider.setAttribute("aria-valuetext", said);
      value.textContent = said;
      effect.textContent = effectOf(name, before, outcome);
      share.textContent = percent(outcome.probs(name, rank));
      before = outcome.kept[name];
    }
    follows.textContent = labels.get(followed);
    original.textContent = percent(outcome.probs("original", rank));
    summary.textContent = result(outcome);
    bars.show(outcome, followed);
    return outcome;
  }

  function effectOf(name, before, { kept }) {
    const value = settings[name];
    if (name === "repetition_penalty") {
      if (!context.length) return words.no_context;
      const direction = value > 1 ? words.less : words.more;
      return value === 1 ? words.changes_none : fill(direction, { count: count(prepared.repeated.length) });
    }
    if (kept[name] < before) return fill(words.cuts, { cut: count(before - kept[name]), left: count(kept[name]) });
    if (name === "temperature") return value === 1 ? words.changes_none : value > 1 ? words.flatter : words.sharper;
    return words.cuts_none;
  }

  function result({ kept, held }) {
    return fill(words.kept, { kept: count(kept.min_p), all: count(logits.length), held: percent(held) });
  }

  function say() {
    const outcome = sample(prepared, settings);
    const best = { token: labels.get(outcome.order[0]), share: percent(outcome.probs("min_p", 0)) };
    spoken.textContent = `${result(outcome)} ${fill(words.likeliest, best)}`;
  }

  function reset() {
    Object.assign(settings, OFF);
    random = seeded(1);
    drawn.replaceChildren();
    tell(model, settings);
    show();
    say();
  }

  function drawOne() {
    const outcome = sample(prepared, settings);
    const rank = draw(outcome, random());
    const id = outcome.order[rank];
    const label = labels.get(id) ?? fill(words.unlabelled, { rank: count(rank + 1), id });
    if (drawn.childElementCount >= DRAWN) drawn.firstChild.remove();
    drawn.append(element("span", { class: "tj-chip tj-mono" }, label));
  }

  el.replaceChildren(element("div", { class: "tj tj-sampling", role: "group", "aria-label": words.title },
    element("div", { class: "tj-columns" },
      element("div", { class: "tj-steps" },
        element("div", { class: "tj-head tj-follows" },
          element("span", { class: "tj-quiet" }, words.model_says), follows, original),
        ...steps.map(({ box }) => box),
        element("div", { class: "tj-actions" }, button(words.draw, drawOne), button(words.reset, reset), drawn)),
      bars.box),
    summary, spoken));
  show();
  return follow(model, STEPS, (name, value) => { settings[name] = value; drawn.replaceChildren(); show(); });
}

/** A DataView's bytes as an ArrayBuffer that typed arrays can be laid over. */
function aligned(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

export default { render };
