"""Next-token logits after any continuation of one prompt; no branch shares its cache with another."""

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.errors import ReaderError
from helpers.kv_cache import copy_cache, forward_with_cache, n_cached, new_cache

MOST_CACHES = 24  # of a 40-token text in SmolLM2: 2 MB each


class Branches:
    """The texts that begin with `prompt_ids`. A path is what follows the prompt: a sequence of token ids.

    A path costs only the tokens that its longest known beginning lacks. ReaderError: an empty prompt, or a text
    longer than the context window.
    """

    def __init__(self, lm, prompt_ids: Sequence[int]):
        self.lm, self.prompt_ids = lm, list(prompt_ids)
        self._known = OrderedDict()  # path: (cache, logits), the one used longest ago first

    @property
    def room(self) -> int:
        """How many tokens may follow the prompt."""
        return self.lm.config.get_text_config(decoder=True).max_position_embeddings - len(self.prompt_ids)

    def logits(self, path: Sequence[int] = ()) -> Tensor:
        """The logits (n_vocab,) in float32 that follow prompt and path."""
        path = tuple(path)
        if path not in self._known:
            self._known[path] = self._go_on(path)
        self._known.move_to_end(path)
        if len(self._known) > MOST_CACHES:
            self._known.popitem(last=False)
        return self._known[path][1]

    def _go_on(self, path: tuple[int, ...]):
        """Cache and logits after `path`, from a copy of the longest beginning that is known."""
        if not self.prompt_ids or len(path) > self.room:
            raise ReaderError(f"{len(self.prompt_ids) + len(path)} tokens: {self.lm.name} cannot go on from there.")
        start = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self._known), None)
        cache = new_cache(self.lm) if start is None else copy_cache(self._known[start][0])
        unseen = [*self.prompt_ids, *path][n_cached(cache) :]
        with torch.inference_mode():
            return cache, forward_with_cache(self.lm, unseen, cache, last_only=True)[-1].float()
