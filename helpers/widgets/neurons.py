"""Explorer over the neurons of every FFN: which are strong at a token, where else they fire, what they promote."""

import numpy as np
import torch
from traitlets import Bytes, Int, List, Unicode, validate

from helpers import language
from helpers.errors import ReaderError
from helpers.language import text
from helpers.neurons import ORDERS, strongest
from helpers.tokens import token_labels
from helpers.widgets.base import FOLDER, Explorer, html_table
from helpers.widgets.neurons_words import STRINGS

language.STRINGS.update(STRINGS)

MOST_TOKENS = 24
MOST_PLACES = 2900  # places in all lists of one order: bounds the product with the whole vocabulary
LISTED = (3, 8)  # neurons a list, fewest and most


class NeuronExplorer(Explorer):
    """The strongest neurons of each block at each token of `seen`, a trace of the model `lm`.

    Of a prompt longer than 24 tokens the first and the last ones are shown. `layer`, `token` (a position in the
    prompt), `order` ("push" or "strength") and `rank` (a place in the list) follow the view and move it;
    `neuron` is the selected one. ReaderError: a place that is not shown, a model with experts.
    """

    _esm = FOLDER / "neurons.js"
    _css = Explorer._css + (FOLDER / "neurons.css").read_text(encoding="utf-8")
    words_of = "neurons"

    layer = Int(0).tag(sync=True)
    token = Int(0).tag(sync=True)
    order = Unicode("push").tag(sync=True)
    rank = Int(0).tag(sync=True)
    floats = Bytes().tag(sync=True)  # norm (U,), act (U, n), to_answer (U, n), totals (n_layers, n)
    whole = Bytes().tag(sync=True)  # neuron (U,), up and down (U, m) as places in `labels`, slots (2, n_layers, n, k)
    labels = List(Unicode()).tag(sync=True)
    tokens = List(Unicode()).tag(sync=True)
    answers = List(Unicode()).tag(sync=True)
    positions = List(Int()).tag(sync=True)
    n_layers = Int().tag(sync=True)
    d_mlp = Int().tag(sync=True)
    n_listed = Int().tag(sync=True)
    n_named = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, lm, seen, layer=None, token=None, order="push", rank=None):
        positions = shown_positions(len(seen.tokens))
        n_layers = sum(key.endswith(".norm1") for key in seen)
        d_mlp = seen["block0.act"].shape[-1]
        k = min(d_mlp, max(LISTED[0], min(LISTED[1], MOST_PLACES // (n_layers * len(positions)))))
        self._all = found = strongest(lm, seen, positions, k)
        ids, places = torch.stack([found.up, found.down]).unique(return_inverse=True)
        at = len(positions) - 1 if token is None else token
        layer, rank = _start(found, at) if layer is None else (layer, rank or 0)
        super().__init__(
            floats=_packed("<f4", found.norm, found.act, found.to_answer, found.totals),
            whole=_packed("<i4", found.neuron, places, found.slots),
            labels=token_labels(lm.tokenizer, ids.tolist()),
            tokens=[seen.tokens[i] for i in positions],
            answers=token_labels(lm.tokenizer, seen["logits"][positions].argmax(dim=-1).tolist()),
            positions=positions, n_layers=n_layers, d_mlp=d_mlp, n_listed=k, n_named=found.up.shape[1],
            caption=_caption(seen, positions),
            layer=layer, token=positions[-1] if token is None else token, order=order, rank=rank,
        )  # fmt: skip

    @validate("layer", "token", "rank")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        places = {"layer": range(self.n_layers), "token": self.positions, "rank": range(self.n_listed)}[name]
        if value not in places:
            raise ReaderError(f"{name} {value} is not shown here: choose one of {_listed(places)}.")
        return value

    @validate("order")
    def _known(self, proposal):
        if proposal["value"] not in ORDERS:
            raise ReaderError(f'order {proposal["value"]!r} is unknown: choose "push" or "strength".')
        return proposal["value"]

    @property
    def listed(self):
        """[(neuron, activation, push), …] of the present list, strongest first."""
        at = self.positions.index(self.token)
        chosen = self._all.slots[ORDERS.index(self.order), self.layer, at]
        act, push = self._all.act[chosen, at], (self._all.act * self._all.to_answer)[chosen, at]
        return list(zip(self._all.neuron[chosen].tolist(), act.tolist(), push.tolist(), strict=True))

    @property
    def neuron(self):
        """The selected neuron's number in its block."""
        return self.listed[self.rank][0]

    def table(self):
        """The present list with the tokens each neuron promotes, as HTML."""
        at = self.positions.index(self.token)
        chosen = self._all.slots[ORDERS.index(self.order), self.layer, at].tolist()
        rows = [
            [str(neuron), f"{act:.2f}", f"{push:+.2f}", " ".join(self._promoted(one, act)[:4])]
            for one, (neuron, act, push) in zip(chosen, self.listed, strict=True)
        ]
        header = [text(f"neurons.head.{name}") for name in ("neuron", "act", "push", "tokens")]
        place = dict(layer=self.layer, token=self.tokens[at], answer=self.answers[at])
        return html_table(text("neurons.table", **place), header, rows)

    def _promoted(self, one, act):
        """Labels of the tokens that neuron `one` of all pushes up where its activation is `act`."""
        whole = np.frombuffer(self.whole, "<i4")
        count, m = len(self._all.neuron), self.n_named
        start = count + (0 if act >= 0 else count * m) + one * m
        return [self.labels[i] for i in whole[start : start + m]]


def shown_positions(n_tokens):
    """Positions of the tokens shown: all, or the first and the last ones that fit."""
    shown = min(n_tokens, MOST_TOKENS)
    return [0, *range(n_tokens - shown + 1, n_tokens)]


def _start(found, at):
    """(block, place in its list) of the largest push upwards at one of the shown positions."""
    push = (found.act * found.to_answer)[found.slots[0, :, at], at]  # (n_layers, k)
    return divmod(int(push.argmax()), push.shape[1])


def _packed(kind, *tensors):
    """Tensors one after the other, in one little-endian type."""
    return b"".join(tensor.detach().cpu().numpy().astype(kind).tobytes() for tensor in tensors)


def _listed(places):
    places = list(places)
    gap = len(places) > 1 and places[1] - places[0] > 1
    return f"0, {places[1]} to {places[-1]}" if gap else f"{places[0]} to {places[-1]}"


def _caption(seen, positions):
    dtype, n_tokens = str(seen["logits"].dtype).removeprefix("torch."), len(seen.tokens)
    caption = text("neurons.caption", name=seen.name, n_tokens=n_tokens, dtype=dtype)
    if len(positions) == n_tokens:
        return caption
    return caption + " " + text("neurons.capped", last=len(positions) - 1, hidden=n_tokens - len(positions))
