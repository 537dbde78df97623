"""The sampling explorer: what temperature, top-k, top-p, min-p and repetition penalty do to a token."""

import numpy as np
from traitlets import Bytes, Float, Int, List, Unicode, validate

from helpers.language import text
from helpers.sampling import next_token_probs, warped_logits
from helpers.sampling_checks import check_ids, check_settings
from helpers.tokens import token_labels
from helpers.widgets.base import FOLDER, Explorer, html_table

SETTINGS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
_N_LABELS = 1000  # tokens named in the browser; further down the list a token shows its id
_N_ROWS = 10


class SamplingExplorer(Explorer):
    """Sliders over the next-token distribution of `logits` (n_vocab,), computed in the browser.

    The settings are those of `next_token_probs`. A slider that is let go sets its trait; a trait that is set
    moves its slider. `context_ids`: the tokens so far, for the repetition penalty.
    ReaderError as in `next_token_probs`.
    """

    _esm = FOLDER / "sampling.js"
    words_of = "sampling"
    logit_bytes = Bytes().tag(sync=True)  # float32, by token id
    context_ids = List(Int()).tag(sync=True)
    label_bytes = Bytes().tag(sync=True)  # int32, the ids of `labels`
    labels = List(Unicode()).tag(sync=True)
    temperature = Float(1.0).tag(sync=True)
    top_k = Int(0).tag(sync=True)
    top_p = Float(1.0).tag(sync=True)
    min_p = Float(0.0).tag(sync=True)
    repetition_penalty = Float(1.0).tag(sync=True)

    def __init__(
        self,
        logits,
        tokenizer,
        context_ids=None,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_p=0.0,
        repetition_penalty=1.0,
    ):
        context = [] if context_ids is None else check_ids("context_ids", context_ids, len(logits))
        _, self._logits = next(warped_logits(logits, context))  # checked, float32
        labelled = _labelled_ids(self._logits, context)
        self._label_of = dict(zip(labelled, token_labels(tokenizer, labelled), strict=True))
        super().__init__(
            logit_bytes=self._logits.cpu().numpy().astype("<f4").tobytes(),
            context_ids=context,
            label_bytes=np.array(labelled, dtype="<i4").tobytes(),
            labels=list(self._label_of.values()),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
        )

    @validate(*SETTINGS)
    def _in_range(self, proposal):
        check_settings(**{proposal.trait.name: proposal.value})
        return proposal.value

    @property
    def settings(self):
        """The present settings by name, ready for `next_token_probs(logits, **explorer.settings)`."""
        return {name: getattr(self, name) for name in SETTINGS} | {"context_ids": self.context_ids}

    @property
    def probs(self):
        """Probabilities (n_vocab,) under the present settings, computed by `next_token_probs`."""
        return next_token_probs(self._logits, **self.settings)

    @property
    def kept_ids(self):
        """Ids of the tokens no step has cut, likeliest first."""
        *_, (_, last) = warped_logits(self._logits, **self.settings)
        order = last.argsort(descending=True, stable=True)
        return order[last[order].isfinite()].tolist()

    def table(self):
        """The likeliest tokens before and after the present settings, as HTML."""
        before, after, kept = self._logits.softmax(dim=-1), self.probs, self.kept_ids
        is_kept = set(kept)
        cut = [i for i in before.topk(min(_N_ROWS, len(before))).indices.tolist() if i not in is_kept]
        shown = (kept + cut)[:_N_ROWS]
        last = {i: _percent(after[i]) if i in is_kept else text("sampling.cut") for i in shown}
        rows = [[self._label_of[i], _percent(before[i]), last[i]] for i in shown]
        numbers = dict(kept=f"{len(kept):,}", all=f"{len(before):,}", held=_percent(before[kept].sum()))
        header = [text("sampling.token"), text("sampling.before"), text("sampling.after")]
        return html_table(text("sampling.kept", **numbers), header, rows)

    def __repr__(self):
        return f"SamplingExplorer({', '.join(f'{name}={getattr(self, name):g}' for name in SETTINGS)})"


def _labelled_ids(logits, context):
    """The context's tokens, which a penalty can move anywhere, and the likeliest others."""
    repeated = set(context)
    likeliest = logits.topk(min(_N_LABELS + len(repeated), len(logits))).indices.tolist()
    return sorted(repeated) + [i for i in likeliest if i not in repeated][:_N_LABELS]


def _percent(probability):
    return f"{float(probability):.1%}"
