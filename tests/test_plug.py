"""A reader's own attention inside the model: it is called, it is believed, and it is taken out again."""

import threading

import pytest
import torch

from helpers.errors import ReaderError
from helpers.flash import attend_tiled
from helpers.generate import generate
from helpers.kv_cache import forward_with_cache, new_cache
from helpers.plug import own_attention
from helpers.trace import trace
from tests.tiny import ARCHS, WINDOW, tiny

IDS = [5, 9, 2, 7, 7, 30, 41, 3, 12, 8, 5, 19]


def tiled(q, k, v, window):
    return attend_tiled(q, k, v, 4, 4, window=window)[0]


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture_writes_the_same(arch):
    lm = tiny(arch)
    assert len(IDS) > WINDOW
    expected = lm.model(input_ids=torch.tensor([IDS])).logits[0]
    with own_attention(lm, tiled):
        cache = new_cache(lm)
        parts = [forward_with_cache(lm, ids, cache) for ids in (IDS[:7], IDS[7:8], IDS[8:])]
    torch.testing.assert_close(torch.cat(parts), expected, rtol=5e-4, atol=5e-4)


def test_generate_uses_it_for_the_prompt_and_for_every_token():
    lm, calls = tiny("llama"), []

    def counted(q, k, v, window):
        calls.append((len(q), len(k)))
        return tiled(q, k, v, window)

    expected = generate(lm, IDS, max_new_tokens=4)
    with own_attention(lm, counted):
        assert generate(lm, IDS, max_new_tokens=4).token_ids == expected.token_ids
    n, n_layers = len(IDS), lm.config.num_hidden_layers
    assert calls == [pair for pair in [(n, n), (1, n + 1), (1, n + 2), (1, n + 3)] for _ in range(n_layers)]


def test_a_wrong_function_is_noticed_in_the_logits():
    lm = tiny("llama")
    expected = forward_with_cache(lm, IDS, None)
    with own_attention(lm, lambda q, k, v, window: attend_tiled(q, k, v, causal=False)[0]):
        assert not torch.allclose(forward_with_cache(lm, IDS, None), expected, atol=0.1)


def test_afterwards_all_is_as_before():
    lm, before = tiny("llama"), trace(tiny("llama"), IDS)["logits"]
    with pytest.raises(ZeroDivisionError), own_attention(lm, lambda *_: 1 / 0):
        forward_with_cache(lm, IDS, None)
    assert lm.model.config._attn_implementation == "eager"
    assert torch.equal(trace(lm, IDS)["logits"], before)


@pytest.mark.parametrize("wrong, said", [
    (lambda q, k, v, window: q.flatten(1), r"must return a tensor \(12, 4, 8\), as q; it returned \(12, 32\)"),
    (lambda q, k, v, window: None, "it returned a NoneType"),
])  # fmt: skip
def test_a_wrong_shape_is_a_sentence(wrong, said):
    with pytest.raises(ReaderError, match=said), own_attention(tiny("llama"), wrong):
        forward_with_cache(tiny("llama"), IDS, None)


def test_a_batch_is_a_sentence():
    with pytest.raises(ReaderError, match="one text at a time"), own_attention(tiny("llama"), tiled):
        tiny("llama").model(input_ids=torch.tensor([IDS, IDS]))


def test_one_inside_another_is_a_sentence_and_ends_nothing():
    lm = tiny("llama")
    expected = forward_with_cache(lm, IDS, None)
    with own_attention(lm, tiled):
        with pytest.raises(ReaderError, match="One attention of your own at a time"), own_attention(lm, tiled):
            pass
        torch.testing.assert_close(forward_with_cache(lm, IDS, None), expected)
    with own_attention(lm, tiled):  # and the next one is free to begin
        pass


def test_two_models_take_turns():
    done = []

    def run(arch):
        with own_attention(tiny(arch), tiled):
            done.append(torch.isfinite(forward_with_cache(tiny(arch), IDS, None)).all())

    threads = [threading.Thread(target=run, args=(arch,)) for arch in ("llama", "qwen2")]
    [thread.start() for thread in threads]
    [thread.join(30) for thread in threads]
    assert len(done) == 2 and all(done)
