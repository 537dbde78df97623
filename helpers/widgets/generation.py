"""The generation explorer: a text token by token, what else could have come, and where that leads."""

from traitlets import Dict, Int, List, Unicode, observe, validate

from helpers import language
from helpers.branches import Branches
from helpers.generate import stop_token_ids, text_pieces
from helpers.language import text
from helpers.model import prompt_ids as ids_of
from helpers.sampling import next_token_probs
from helpers.sampling_checks import check_ids, check_settings
from helpers.tokens import token_labels
from helpers.widgets.base import FOLDER, AnyWidget, Explorer, html_table
from helpers.widgets.generation_words import STRINGS

language.STRINGS.update(STRINGS)

LISTED = 20  # alternatives a step: the likeliest before the settings, and the likeliest after them
OFF = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "repetition_penalty": 1}
AHEAD = 12  # tokens of the likeliest text, and of one that leaves it, computed in advance


class GenerationExplorer(Explorer):
    """Go through a generation step by step: take a token, force another, go back, compare the branches.

    `settings` are those of `next_token_probs` without `context_ids`; they decide what a draw is made from, and each
    alternative shows its probability before and after them. `path` is the present place, the token ids after the
    prompt, and follows the view or moves it; `branches` are the paths that were gone. New steps are computed by
    the kernel with a KV cache that each branch has for itself. ReaderError: settings or ids out of range, a text
    longer than the context window.
    """

    _esm = FOLDER / "generation.js"
    _css = Explorer._css + (FOLDER / "generation.css").read_text(encoding="utf-8")
    words_of = "generation"

    nodes = List(Dict()).tag(sync=True)  # {path, text, ended, n_kept, alternatives: [[id, label, before, after], …]}
    path = List(Int()).tag(sync=True)
    branches = List(List(Int())).tag(sync=True)
    prompt_tokens = List(Unicode()).tag(sync=True)
    settings_text = Unicode().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, lm, prompt, ahead=AHEAD, **settings):
        check_settings(**settings)
        prompt_ids = ids_of(lm, prompt)
        self._lm, self._settings, self._known = lm, settings, {}
        self._texts, self._stop_ids = Branches(lm, prompt_ids), stop_token_ids(lm)
        branches = self._first_branches(ahead)
        super().__init__(
            nodes=list(self._known.values()),
            branches=branches,
            prompt_tokens=token_labels(lm.tokenizer, prompt_ids),
            settings_text=_settings_text(settings),
            caption=text("generation.caption", name=lm.name, n_tokens=len(prompt_ids)),
        )
        if AnyWidget:
            self.on_msg(self._asked)

    def _first_branches(self, ahead):
        """The likeliest text, and one that leaves it where the model was least sure; both are computed."""
        likeliest = self._follow((), ahead)
        early = range(-(-len(likeliest) // 2))  # so that much of both can be compared
        unsure = min(early, key=lambda i: _ranked(self._known[likeliest[:i]])[0][2], default=0)
        others = _ranked(self._known[likeliest[:unsure]])[1:2]
        if not others or not likeliest:
            return [list(likeliest)] if likeliest else []
        aside = self._follow((*likeliest[:unsure], others[0][0]), len(likeliest) - unsure - 1)
        return [list(likeliest), list(aside)]

    def _follow(self, path, n_steps):
        """`path` continued by the likeliest token, up to `n_steps` times, every step computed."""
        for _ in range(n_steps):
            if not (choices := _ranked(self._node(path))):
                break
            path = (*path, choices[0][0])
        self._node(path)
        return path

    def _node(self, path):
        """What is known at `path`; computed at the first call."""
        if path not in self._known:
            self._known[path] = self._computed(path)
        return self._known[path]

    def _computed(self, path):
        words = "".join(text_pieces(self._lm, self._texts.prompt_ids, path))
        node = {"path": list(path), "text": words, "ended": "", "n_kept": 0, "alternatives": []}
        if path and path[-1] in self._stop_ids:
            return node | {"ended": "stop"}
        if len(path) >= self._texts.room:
            return node | {"ended": "full"}
        before, after = self._probs(path)
        tops = [probs.topk(min(LISTED, int((probs > 0).sum()))).indices.tolist() for probs in (before, after)]
        ids = sorted(set(tops[0] + tops[1]), key=lambda i: -before[i])
        return node | {"n_kept": int((after > 0).sum()), "alternatives": self._rows(path, ids)}

    def _probs(self, path):
        """Next-token probabilities (n_vocab,) before and after the settings."""
        logits, context = self._texts.logits(path), [*self._texts.prompt_ids, *path]
        return logits.softmax(dim=-1).cpu(), next_token_probs(logits, context_ids=context, **self._settings).cpu()

    def _rows(self, path, ids):
        (before, after), labels = self._probs(path), token_labels(self._lm.tokenizer, ids)
        numbers = ([round(float(probs[i]), 8) for i in ids] for probs in (before, after))
        return [list(row) for row in zip(ids, labels, *numbers, strict=True)]

    @validate("path")
    def _in_vocabulary(self, proposal):
        check_ids("path", proposal["value"], self._lm.model.get_input_embeddings().num_embeddings)
        return proposal["value"]

    @observe("path")
    def _moved(self, change):
        """Compute what the view lacks on the way to the new place, and send only that."""
        fresh = [self._on_the_way(tuple(change["new"][:n])) for n in range(len(change["new"]) + 1)]
        self._deliver([node for node in fresh if node])

    def _on_the_way(self, path):
        """The node at `path` if the view has not got it, with the token that was taken there among its rows."""
        known, node = path in self._known, self._node(path)
        taken = self.path[len(path) : len(path) + 1]
        if node["alternatives"] and taken and taken[0] not in [row[0] for row in node["alternatives"]]:
            node["alternatives"] += self._rows(path, taken)
            return node
        return None if known else node

    def _deliver(self, fresh):
        self.nodes[:] = self._known.values()  # in place: a page that is opened again gets all, this one only the new
        if AnyWidget:
            self.send({"nodes": fresh})

    def _asked(self, _, message, buffers):
        """A draw beyond the listed tokens: the view sends its random number, the kernel says which token it meets."""
        path = tuple(message["path"])
        after = self._probs(path)[1].sort(descending=True, stable=True)
        place = int((after.values.double().cumsum(0) <= message["draw"]).sum())
        token_id = int(after.indices[min(place, self._node(path)["n_kept"] - 1)])
        self.send({"nodes": [], "path": list(path), "drawn": token_id})

    @property
    def text(self):
        """What stands after the prompt at the present place."""
        return self._node(tuple(self.path))["text"]

    @property
    def alternatives(self):
        """[(label, probability before the settings, after them), …] at the present place, likeliest first."""
        return [tuple(row[1:]) for row in self._node(tuple(self.path))["alternatives"]]

    def log_prob(self, path=None):
        """ln of the probability that the model itself, without settings, gives a path; the present one if None."""
        path = list(self.path if path is None else path)
        rows = (self._texts.logits(path[:n]).log_softmax(dim=-1) for n in range(len(path)))
        return sum(float(row[i]) for row, i in zip(rows, path, strict=True))

    def table(self):
        """The first branch as HTML: each token, its probability before and after the settings, the runner-up."""
        branch, rows = tuple(self.branches[0]) if self.branches else (), []
        for n, token_id in enumerate(branch[:AHEAD]):
            choices = _ranked(self._known[branch[:n]])
            (_, label, before, after), others = next(row for row in choices if row[0] == token_id), choices[1:2]
            second = f"{others[0][1]} {others[0][2]:.1%}" if others else ""
            rows.append([str(n + 1), label, f"{before:.1%}", f"{after:.1%}", second])
        header = [text(f"generation.{name}") for name in ("step", "token", "before", "after", "second")]
        return html_table(text("generation.table", settings=self.settings_text), header, rows)

    def __repr__(self):
        return f"GenerationExplorer({self.settings_text}, {len(self.path)} tokens written)"


def _ranked(node):
    """The rows of a node, likeliest first: after the settings, then before them."""
    return sorted(node["alternatives"], key=lambda row: (-row[3], -row[2]))


def _settings_text(settings):
    """The settings that are on, by name: what the reader wrote."""
    on = (f"{name}={value:g}" for name, value in settings.items() if value != OFF[name])
    return ", ".join(on) or text("generation.no_settings")
