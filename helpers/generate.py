"""Write a text token by token: run the model, choose, append, run again."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from helpers.decode import Decoder, can_decode
from helpers.kv_cache import forward_with_cache, new_cache
from helpers.model import prompt_ids as ids_of
from helpers.sampling import greedy_id, next_token_probs, penalize_repetition, sample
from helpers.sampling_checks import check_settings
from helpers.timing import now
from helpers.tokens import token_bytes


@dataclass(frozen=True)
class Generation:
    """What `generate` wrote: `token_ids` are the new ones, `text` is theirs and continues the prompt.

    `stopped_by` is "stop token" (it is in `token_ids`, not in `text`), "max_new_tokens" or "context window".
    Seconds: `prefill_s` until the first new token was chosen, `step_s` for each further one.
    """

    prompt_ids: list[int]
    token_ids: list[int]
    text: str
    stopped_by: str
    prefill_s: float = field(compare=False)
    step_s: list[float] = field(compare=False)


def generate(
    lm, prompt: str | Sequence[int], max_new_tokens: int = 40, cache: bool = True, seed: int = 0, **settings
) -> Generation:
    """Continue `prompt`, a text or token ids, by at most `max_new_tokens` tokens.

    `settings` are those of `next_token_probs`, but `temperature` is 0 unless you set it: greedy, so that the
    same prompt gives the same text. With a temperature, the same `seed` gives the same draws. `cache=False`
    computes the whole text again for every token: the same ids, slower.
    Stops after a stop token of the model, or when the context window is full. ReaderError: an empty prompt or
    one longer than the context window, a setting out of its range, logits that are not finite.
    """
    prompt_ids, steps = _start(lm, prompt, max_new_tokens, cache, seed, settings)
    ids, seconds = map(list, zip(*steps, strict=True))
    text = "".join(text_pieces(lm, prompt_ids, ids))
    return Generation(prompt_ids, ids, text, _stopped_by(lm, ids, max_new_tokens), seconds[0], seconds[1:])


def stream(
    lm, prompt: str | Sequence[int], max_new_tokens: int = 40, cache: bool = True, seed: int = 0, **settings
) -> Iterator[str]:
    """As `generate`, but yields the text piece by piece; joined, the pieces are its `text`.

    A character spread over several tokens is held back until its last byte is there.
    """
    prompt_ids, steps = _start(lm, prompt, max_new_tokens, cache, seed, settings)
    return text_pieces(lm, prompt_ids, (token_id for token_id, _ in steps))


def _start(lm, prompt, max_new_tokens, cache, seed, settings):
    """The prompt's ids and the steps that follow, once everything asked for is known to be possible."""
    check_settings(max_new_tokens=max_new_tokens, seed=seed)
    choose = _chooser(seed, **settings)
    prompt_ids = ids_of(lm, prompt)
    room = lm.n_places - len(prompt_ids) + 1  # the last token is chosen when the context window is full
    return prompt_ids, _steps(lm, prompt_ids, min(max_new_tokens, room), cache, choose)


@torch.inference_mode()
def _steps(lm, prompt_ids, n_steps, cache, choose) -> Iterator[tuple[int, float]]:
    """Yield (new token id, seconds it took)."""
    start = now(lm.device)
    step = _cached(lm, len(prompt_ids) + n_steps) if cache else partial(_forward, lm, past=None)
    ids, unseen, stop_ids = list(prompt_ids), prompt_ids, stop_token_ids(lm)
    for _ in range(n_steps):
        ids.append(choose(step(unseen), ids))
        unseen = ids[-1:] if cache else ids
        yield ids[-1], now(lm.device) - start
        if ids[-1] in stop_ids:
            return
        start = now(lm.device)


def _cached(lm, n_places) -> Callable[[list[int]], Tensor]:
    """The function (unseen ids) -> logits (n_vocab,): a `Decoder` where the model is one of its, else transformers."""
    return Decoder(lm, n_places) if can_decode(lm) else partial(_forward, lm, past=new_cache(lm))


def _forward(lm, ids, past) -> Tensor:
    return forward_with_cache(lm, ids, past, last_only=True)[-1].float()


def _chooser(seed, temperature=0.0, repetition_penalty=1.0, **settings) -> Callable[[Tensor, list[int]], int]:
    """The function (logits, ids so far) -> next id."""
    settings |= {"temperature": temperature, "repetition_penalty": repetition_penalty}
    check_settings(**settings)
    generator = torch.Generator().manual_seed(int(seed))

    def choose(logits, ids):
        if temperature == 0:
            return greedy_id(penalize_repetition(logits, repetition_penalty, ids))
        return sample(next_token_probs(logits, context_ids=ids, **settings), generator)

    return choose


def stop_token_ids(lm) -> set[int]:
    """Every id that the model, its configuration or its tokenizer calls an end of text."""
    named = (lm.model.generation_config.eos_token_id, lm.config.eos_token_id, lm.tokenizer.eos_token_id)
    lists = [ids if isinstance(ids, list) else [ids] for ids in named]
    return {i for ids in lists for i in ids if i is not None}


def _stopped_by(lm, ids, max_new_tokens) -> str:
    if ids[-1] in stop_token_ids(lm):
        return "stop token"
    return "max_new_tokens" if len(ids) == max_new_tokens else "context window"


def text_pieces(lm, prompt_ids: list[int], ids: Iterable[int]) -> Iterator[str]:
    """The text of the tokens `ids` after `prompt_ids`, piece by piece, without stop tokens.

    A piece holds whole characters only; bytes that can become none are shown as U+FFFD.
    """
    decoder, stop_ids = codecs.getincrementaldecoder("utf-8")(errors="replace"), stop_token_ids(lm)
    for token_id in prompt_ids[-3:]:  # a prompt given as ids may end within a character
        decoder.decode(token_bytes(lm.tokenizer, token_id))
    for token_id in ids:
        if token_id not in stop_ids and (piece := decoder.decode(token_bytes(lm.tokenizer, token_id))):
            yield piece
    if piece := decoder.decode(b"", final=True):
        yield piece
