"""The exercise checks accept every right solution and refuse each typical slip with the hint for it."""

import pytest
import torch
import torch.nn.functional as F

from helpers.errors import CheckFailed
from helpers.exercises.attention import check_attention_output, check_attention_pattern, check_kv_bytes
from helpers.exercises.attention_answers import (
    KV_BYTES_MISTAKES,
    OUTPUT_MISTAKES,
    PATTERN_MISTAKES,
    attention_pattern,
)
from helpers.trace import trace
from helpers.weights import sizes
from tests.tiny import tiny


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def model(request):
    return tiny(request.param)


@pytest.fixture(scope="module")
def seen(model):
    """A trace with and one without rotation and groups."""
    return trace(model, "Hello the capital of France")


@pytest.fixture(scope="module")
def w_o():
    return torch.randn(32, 32, generator=torch.Generator().manual_seed(0))


# --- right solutions, written as different readers would ---


def pattern_einsum(q, k):
    n_tokens, n_heads, d_head = q.shape
    k = k.repeat_interleave(n_heads // k.shape[1], dim=1)
    scores = torch.einsum("ihd,jhd->hij", q, k) / d_head**0.5
    future = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


def pattern_loop(q, k):
    n_tokens, n_heads, d_head = q.shape
    pattern = torch.zeros(n_heads, n_tokens, n_tokens, device=q.device)
    q *= d_head**-0.5  # a reader may write into the arguments
    for h in range(n_heads):
        for i in range(n_tokens):
            row = k[: i + 1, h * k.shape[1] // n_heads] @ q[i, h]
            shares = (row - row.max()).exp()
            pattern[h, i, : i + 1] = shares / shares.sum()
    return pattern


def pattern_large_negative(q, k):
    q, k = q.transpose(0, 1), k.transpose(0, 1).repeat_interleave(q.shape[1] // k.shape[1], 0)
    mask = torch.full((q.shape[1], q.shape[1]), -1e9, device=q.device).triu(1)
    return F.softmax(q @ k.mT / q.shape[-1] ** 0.5 + mask, dim=-1)


def pattern_in_float64(q, k):
    return pattern_einsum(q.double(), k.double())


def pattern_by_torch(q, k):
    """The values that torch's own attention mixes are unit vectors here: what comes out are the shares."""
    q, k = q.transpose(0, 1), k.transpose(0, 1).repeat_interleave(q.shape[1] // k.shape[1], 0)
    return F.scaled_dot_product_attention(q, k, torch.eye(q.shape[1]).expand(len(q), -1, -1), is_causal=True)


def output_einsum(pattern, v, w_o):
    v = v.repeat_interleave(len(pattern) // v.shape[1], dim=1)
    return torch.einsum("hij,jhd->ihd", pattern, v).flatten(1) @ w_o.T


def output_head_by_head(pattern, v, w_o):
    n_heads, group = len(pattern), len(pattern) // v.shape[1]
    mixed = [pattern[h] @ v[:, h // group] for h in range(n_heads)]
    return F.linear(torch.cat(mixed, dim=-1), w_o)


RIGHT_PATTERNS = [pattern_einsum, pattern_loop, pattern_large_negative, pattern_in_float64, pattern_by_torch]


@pytest.mark.parametrize("solution", RIGHT_PATTERNS)
def test_right_patterns_pass(solution, seen, capsys):
    check_attention_pattern(solution, seen)
    assert capsys.readouterr().out.startswith("Right: attention_pattern(q, k)")


@pytest.mark.parametrize("solution", [output_einsum, output_head_by_head])
def test_right_outputs_pass(solution, seen, w_o, capsys):
    check_attention_output(solution, seen, w_o)
    assert capsys.readouterr().out.startswith("Right: attention_output(pattern, v, w_o)")


def test_the_right_answer_is_the_models_own(lm):
    real = trace(lm, "The capital of France is")
    ours = attention_pattern(real["block3.q_rot"], real["block3.k_rot"])
    torch.testing.assert_close(ours, real["block3.pattern"], rtol=1e-4, atol=1e-4)
    w_o = lm.model.model.layers[3].self_attn.o_proj.weight
    ours = output_einsum(real["block3.pattern"], real["block3.v"], w_o)
    torch.testing.assert_close(ours, real["block3.attn"], rtol=1e-4, atol=1e-4)


def test_one_token_is_enough_of_a_prompt(model, w_o):
    single = trace(model, "a")
    check_attention_pattern(pattern_einsum, single)
    check_attention_output(output_einsum, single, w_o)
    with pytest.raises(CheckFailed, match="causal mask"):
        check_attention_pattern(unmasked, single)


# --- slips, written out as a reader would make them, not taken from the helper ---


def parts(q, k):
    n_tokens, n_heads, d_head = q.shape
    k = k.repeat_interleave(n_heads // k.shape[1], dim=1)
    future = torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1)
    return torch.einsum("ihd,jhd->hij", q, k), d_head**0.5, future


def unmasked(q, k):
    dots, root, _ = parts(q, k)
    return (dots / root).softmax(-1)


def with_mask(q, k, mask, fill=-torch.inf, axis=-1):
    dots, root, _ = parts(q, k)
    return (dots / root).masked_fill(mask, fill).softmax(axis)


def with_scale(q, k, scale):
    dots, _, future = parts(q, k)
    return (dots * scale).masked_fill(future, -torch.inf).softmax(-1)


def plain_softmax(of):
    exps = (of[0] / of[1]).exp().masked_fill(of[2], 0.0)
    return exps / exps.sum(-1, keepdim=True)


def ones(q):
    return torch.ones(len(q), len(q), dtype=torch.bool)


PATTERN_SLIPS = {
    "no scaling": (lambda q, k: with_scale(q, k, 1), "divide q·k by the square root of d_head"),
    "scaled by d_head": (lambda q, k: with_scale(q, k, 1 / q.shape[-1]), "you divided by d_head"),
    "scaled by sqrt(d_model)": (
        lambda q, k: with_scale(q, k, (q.shape[1] * q.shape[2]) ** -0.5),
        "width of all heads",
    ),
    "no mask": (unmasked, "later tokens: hide them with a causal mask"),
    "own token masked": (lambda q, k: with_mask(q, k, ones(q).triu(0)), "hides each token from itself"),
    "own token masked, finite": (
        lambda q, k: with_mask(q, k, ones(q).triu(0), -1e9),
        "hides each token from itself",
    ),
    "sees one ahead": (lambda q, k: with_mask(q, k, ones(q).triu(2)), "off by one"),
    "past masked": (lambda q, k: with_mask(q, k, ones(q).tril(-1)), "hides the past"),
    "masked after the softmax": (
        lambda q, k: unmasked(q, k).masked_fill(parts(q, k)[2], 0),
        "do not add up to 1",
    ),
    "masked with 0": (lambda q, k: with_mask(q, k, parts(q, k)[2], 0.0), "exp(0) is 1"),
    "softmax over queries": (lambda q, k: with_mask(q, k, parts(q, k)[2], axis=1), "columns add up to 1"),
    "softmax over heads": (lambda q, k: with_mask(q, k, parts(q, k)[2], axis=0), "runs over the heads"),
    "queries and keys exchanged": (
        lambda q, k: (parts(q, k)[0].mT / parts(q, k)[1]).masked_fill(parts(q, k)[2], -torch.inf).softmax(-1),
        "rows and columns are exchanged",
    ),
    "no softmax": (
        lambda q, k: (parts(q, k)[0] / parts(q, k)[1]).masked_fill(parts(q, k)[2], -torch.inf),
        "missing",
    ),
    "keys tiled": (
        lambda q, k: pattern_einsum(q, k.repeat(1, q.shape[1] // k.shape[1], 1)),
        "neighbouring heads share a key",
    ),
    "masked with -20": (lambda q, k: with_mask(q, k, parts(q, k)[2], -20.0), "hide with minus infinity"),
    "masked with -100": (lambda q, k: with_mask(q, k, parts(q, k)[2], -100.0), "hide with minus infinity"),
    "-20 added": (lambda q, k: (parts(q, k)[0] / parts(q, k)[1] - 20.0 * parts(q, k)[2]).softmax(-1), "infinity"),
    "-10,000 before scaling": (
        lambda q, k: (parts(q, k)[0].masked_fill(parts(q, k)[2], -1e4) / parts(q, k)[1]).softmax(-1),
        "not for scores far apart",
    ),
    "plain exponential": (lambda q, k: plain_softmax(parts(q, k)), "e to a large number overflows"),
    "the square root of 8": (lambda q, k: with_scale(q, k, 8**-0.5), "every number from the arguments"),
    "heads last": (lambda q, k: pattern_einsum(q, k).permute(1, 2, 0), "expected a tensor of shape"),
}


@pytest.mark.parametrize("slip", PATTERN_SLIPS)
def test_pattern_slips_get_their_hint(slip, seen):
    wrong, hint = PATTERN_SLIPS[slip]
    with pytest.raises(CheckFailed) as refusal:
        check_attention_pattern(wrong, seen)
    assert hint in str(refusal.value)


def mix(pattern, v):
    return torch.einsum("hij,jhd->ihd", pattern, v.repeat_interleave(len(pattern) // v.shape[1], dim=1))


OUTPUT_SLIPS = {
    "no projection": (lambda pattern, v, w_o: mix(pattern, v).flatten(1), "w_o is missing"),
    "weight not transposed": (
        lambda pattern, v, w_o: mix(pattern, v).flatten(1) @ w_o,
        "multiply by its transpose",
    ),
    "d_head first": (
        lambda pattern, v, w_o: mix(pattern, v).mT.flatten(1) @ w_o.T,
        "all numbers of head 0 come first",
    ),
    "heads not moved back": (
        lambda pattern, v, w_o: mix(pattern, v).transpose(0, 1).reshape(len(v), -1) @ w_o.T,
        "heads and tokens are mixed up",
    ),
    "values tiled": (
        lambda pattern, v, w_o: output_einsum(pattern, v.repeat(1, len(pattern) // v.shape[1], 1), w_o),
        "neighbouring heads share a value",
    ),
    "pattern transposed": (lambda pattern, v, w_o: output_einsum(pattern.mT, v, w_o), "exchanged"),
    "not joined": (lambda pattern, v, w_o: mix(pattern, v), "your answer is a tensor of shape"),
}


@pytest.mark.parametrize("slip", OUTPUT_SLIPS)
def test_output_slips_get_their_hint(slip, seen, w_o):
    wrong, hint = OUTPUT_SLIPS[slip]
    with pytest.raises(CheckFailed) as refusal:
        check_attention_output(wrong, seen, w_o)
    assert hint in str(refusal.value)


def test_every_hint_of_the_helper_is_reached_by_a_slip_above():
    expected = [hint for _, hint in (*PATTERN_SLIPS.values(), *OUTPUT_SLIPS.values(), *KV_SLIPS.values())]
    for hint, _ in (*PATTERN_MISTAKES, *OUTPUT_MISTAKES, *KV_BYTES_MISTAKES):
        assert any(part in hint for part in expected), hint


# --- answers that only fit this prompt ---


def test_a_stored_answer_is_refused(seen, w_o):
    with pytest.raises(CheckFailed, match="right for this prompt and model, not for sizes"):
        check_attention_pattern(lambda q, k: seen["block0.pattern"], seen)
    stored = output_einsum(seen["block0.pattern"], seen["block0.v"], w_o)
    with pytest.raises(CheckFailed, match="right for this prompt and model, not for sizes"):
        check_attention_output(lambda pattern, v, w_o: stored, seen, w_o)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_size_written_as_a_number_is_refused(axis, seen):
    sizes = list(seen["block0.q"].shape)

    def fixed(q, k):
        q = q.reshape(*(sizes[i] if i == axis else q.shape[i] for i in range(3)))
        return pattern_einsum(q, k)

    with pytest.raises(CheckFailed, match="every number from the arguments: your function stopped with RuntimeError"):
        check_attention_pattern(fixed, seen)


# --- unfinished and broken code ---


@pytest.mark.parametrize("unfinished", [..., lambda q, k: ..., lambda q, k: (...).softmax(-1)])
def test_unfinished_code_is_no_error(unfinished, seen, capsys):
    check_attention_pattern(unfinished, seen)
    assert capsys.readouterr().out.startswith("Not done yet: attention_pattern(q, k).")


def forgot_to_return(*arguments):
    pattern_einsum(*arguments)


def test_a_forgotten_return_is_named(seen, w_o, lm):
    missing = pytest.raises(CheckFailed, match="your function returns nothing: is `return` missing\\?")
    with missing:
        check_attention_pattern(forgot_to_return, seen)
    with missing:
        check_attention_output(lambda pattern, v, w_o: None, seen, w_o)
    with missing:
        check_kv_bytes(lambda size: None, sizes(lm))
    with pytest.raises(CheckFailed, match="your answer is None"):
        check_kv_bytes(None, sizes(lm))


def test_a_return_in_one_branch_only_is_named(seen):
    with pytest.raises(CheckFailed, match="not for sizes .* your function returns nothing"):
        check_attention_pattern(lambda q, k: pattern_einsum(q, k) if q.shape[1] == 4 else None, seen)


def test_an_exception_becomes_one_sentence(seen):
    with pytest.raises(CheckFailed) as refusal:
        check_attention_pattern(lambda q, k: q @ k.transpose(5, 6), seen)
    assert "your function stopped with IndexError: Dimension out of range" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_readers_code_cannot_change_the_trace(seen):
    before = {key: value.clone() for key, value in seen.items()}
    check_attention_pattern(pattern_loop, seen)
    assert all(torch.equal(before[key], seen[key]) for key in before)


# --- bytes of cache ---

KV_SLIPS = {
    "query heads": (
        lambda c: 2 * c.n_layers * c.n_heads * c.d_head * 4,
        "only the KV heads",
    ),
    "one tensor": (
        lambda c: c.n_layers * c.n_kv_heads * c.d_head * 4,
        "a key and a value",
    ),
    "one layer": (lambda c: 2 * c.n_kv_heads * c.d_head * 4, "every layer"),
    "numbers": (lambda c: 2 * c.n_layers * c.n_kv_heads * c.d_head, "numbers, not bytes"),
    "half": (lambda c: 2 * c.n_layers * c.n_kv_heads * c.d_head * 2, "takes 4 bytes"),
    "head size": (
        lambda c: 2 * c.n_layers * c.n_kv_heads * (c.d_model // c.n_heads) * 4,
        "the size of a head is d_head",
    ),
}


def right_kv_bytes(size):
    return 2 * size.n_layers * size.n_kv_heads * size.d_head * 4


def test_smollm2_keeps_46080_bytes_a_token(lm, capsys):
    check_kv_bytes(46_080, sizes(lm))
    check_kv_bytes(right_kv_bytes, sizes(lm))
    assert capsys.readouterr().out.count("Right: ") == 2


@pytest.mark.parametrize("slip", KV_SLIPS)
def test_kv_slips_get_their_hint(slip, lm):
    wrong, hint = KV_SLIPS[slip]
    with pytest.raises(CheckFailed, match=hint):
        check_kv_bytes(wrong, sizes(lm))


def test_the_number_for_nine_heads_is_refused(lm):
    with pytest.raises(CheckFailed, match="only the KV heads"):
        check_kv_bytes(138_240, sizes(lm))


def test_a_fixed_number_of_bytes_is_refused(lm):
    with pytest.raises(CheckFailed, match="not for another model"):
        check_kv_bytes(lambda size: 46_080, sizes(lm))


def test_one_byte_more_is_refused(lm):
    with pytest.raises(CheckFailed):
        check_kv_bytes(lambda size: right_kv_bytes(size) + 1, sizes(lm))


def test_the_readers_code_cannot_change_the_sizes(lm):
    def cheat(size):
        size.n_kv_heads = 1
        return right_kv_bytes(size)

    with pytest.raises(CheckFailed):
        check_kv_bytes(cheat, sizes(lm))
    check_kv_bytes(right_kv_bytes, sizes(lm))
