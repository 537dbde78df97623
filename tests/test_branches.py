"""Branches of one text: the same logits as a full pass, whatever was computed before, and no cache shared."""

import pytest
import torch

from helpers import branches
from helpers.branches import Branches
from helpers.errors import ReaderError
from helpers.kv_cache import forward_with_cache, n_cached
from tests.tiny import ARCHS, CONTEXT, tiny

PROMPT = [5, 6, 7, 8, 9]
PATHS = ((), (1,), (1, 2, 3), (1, 2), (1, 4), (1, 2, 3, 4), (9, 9, 9), (1, 4, 4), ())


def full(lm, path):
    return forward_with_cache(lm, [*PROMPT, *path], None)[-1].float()


@pytest.mark.parametrize("arch", ARCHS)
def test_every_branch_is_the_full_pass(arch):
    lm = tiny(arch)
    texts = Branches(lm, PROMPT)
    for path in PATHS:
        torch.testing.assert_close(texts.logits(path), full(lm, path), rtol=5e-4, atol=5e-4)


def test_a_branch_leaves_its_neighbour_as_it_was():
    texts = Branches(tiny("llama"), PROMPT)
    texts.logits((1, 2))
    for token in range(9):
        texts.logits((1, 2, token))
        texts.logits((1, token, token))
    cache, before = texts._known[(1, 2)]
    assert n_cached(cache) == len(PROMPT) + 2
    texts._known = {(1, 2): (cache, before)}
    torch.testing.assert_close(texts._go_on((1, 2, 8))[1], full(texts.lm, (1, 2, 8)), rtol=5e-4, atol=5e-4)


def test_only_the_new_token_is_computed(monkeypatch):
    computed = []
    whole = branches.forward_with_cache

    def counted(lm, ids, *rest, **options):
        computed.append(len(ids))
        return whole(lm, ids, *rest, **options)

    monkeypatch.setattr(branches, "forward_with_cache", counted)
    texts = Branches(tiny("llama"), PROMPT)
    for path in ((), (1,), (1, 2), (1, 3), (1, 3), (1, 3, 5, 6)):
        texts.logits(path)
    assert computed == [5, 1, 1, 1, 2]


def test_memory_is_bounded_and_what_was_forgotten_comes_back(monkeypatch):
    monkeypatch.setattr(branches, "MOST_CACHES", 3)
    lm = tiny("gpt2")
    texts = Branches(lm, PROMPT)
    for token in range(10):
        texts.logits((token,))
    assert len(texts._known) == 3
    torch.testing.assert_close(texts.logits((2, 2)), full(lm, (2, 2)), rtol=5e-4, atol=5e-4)


def test_the_branch_unused_for_longest_is_the_one_forgotten(monkeypatch):
    monkeypatch.setattr(branches, "MOST_CACHES", 3)
    texts = Branches(tiny("llama"), PROMPT)
    for path in ((1,), (2,), (3,), (1,), (4,)):
        texts.logits(path)
    assert list(texts._known) == [(3,), (1,), (4,)]


def test_what_cannot_be_continued():
    lm = tiny("llama")
    with pytest.raises(ReaderError, match="0 tokens"):
        Branches(lm, []).logits()
    texts = Branches(lm, PROMPT * 25)
    assert texts.room == CONTEXT - 125
    texts.logits([1] * texts.room)
    with pytest.raises(ReaderError, match="cannot go on"):
        texts.logits([1] * (texts.room + 1))
