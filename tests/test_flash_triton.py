"""The Triton kernel equals attention with the whole matrix, and compiles to tensor-core code for A100 and H100.

On a machine with CUDA it runs there, compiled; elsewhere in Triton's interpreter. Other modules have imported Triton
by then, so that this also shows that the kernel does not depend on being its first user.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from helpers.errors import ReaderError
from helpers.flash import attend_tiled
from helpers.plug import own_attention
from tests.test_flash import inputs, whole
from tests.tiny import tiny

pytest.importorskip("triton", reason="needs Triton, which exists for Linux: python -m pip install triton")

from helpers import flash_triton
from helpers.flash_triton import Tiling, attend_triton

CUDA = torch.cuda.is_available()
ROOT = Path(__file__).parents[1]
MASKS = [{}, {"causal": False}, *({"window": n} for n in (1, 12, 20)), {"window": 20, "causal": False}]


@pytest.fixture
def small_tiles(monkeypatch, request):
    """Tiles of 16 x 16, so that short inputs have many: whole, cut and skipped ones."""
    tile = Tiling(*getattr(request, "param", (16, 16)), 4, 2)
    monkeypatch.setattr(flash_triton, "INTERPRETER", tile)
    monkeypatch.setattr(flash_triton, "tiling", lambda *_: tile)


def kernel(q, k, v, **mask):
    """The kernel's result, back on the CPU."""
    return attend_triton(*(x.to("cuda") if CUDA else x for x in (q, k, v)), **mask).cpu()


def check(q, k, v, rtol=1e-5, atol=1e-5, **mask):
    """Against the whole matrix in float64, which the tiles in torch equal too."""
    expected = whole(*(x.double() for x in (q, k, v)), **mask)
    torch.testing.assert_close(attend_tiled(*(x.double() for x in (q, k, v)), **mask)[0], expected)
    mixed = kernel(q, k, v, **mask)
    assert mixed.dtype == q.dtype
    torch.testing.assert_close(mixed.double(), expected, rtol=rtol, atol=atol)


def floats(n_q, n_k, dtype=torch.float32, scale=1.0, **sizes):
    return [x.to(dtype) for x in inputs(n_q, n_k, dtype=torch.float32, scale=scale, **sizes)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("n_q, n_k", [(1, 1), (1, 70), (32, 32), (37, 37), (21, 61), (40, 20)])
def test_any_lengths_and_masks(n_q, n_k, mask, small_tiles):
    """Ragged and not, one query, fewer queries than keys, and more: rows that see nothing give 0."""
    check(*floats(n_q, n_k, n_heads=2, n_kv_heads=1), **mask)


@pytest.mark.parametrize("small_tiles", [(16, 32), (64, 16)], indirect=True)
def test_tiles_that_are_not_square(small_tiles):
    check(*floats(50, 70), window=40)


@pytest.mark.parametrize("d_head", [8, 64, 80, 128])
def test_any_number_of_numbers_in_a_head(d_head, small_tiles):
    check(*floats(20, 40, d_head=d_head), window=30)


@pytest.mark.parametrize("n_heads, n_kv_heads", [(4, 4), (9, 3), (5, 1)])
def test_heads_share_keys_and_values(n_heads, n_kv_heads, small_tiles):
    check(*floats(19, 19, n_heads=n_heads, n_kv_heads=n_kv_heads))


@pytest.mark.parametrize("dtype", [torch.float16] + [torch.bfloat16] * CUDA)
@pytest.mark.parametrize("mask", MASKS)
def test_half_precision_costs_the_rounding_of_weights_and_result(dtype, mask, small_tiles):
    q, k, v = floats(37, 53, dtype, n_heads=2, n_kv_heads=1, d_head=64)
    step = torch.finfo(dtype).eps / 2  # relative error of a rounded number: each weight has one, and the result
    check(q, k, v, rtol=0, atol=2 * step * v.abs().max().item(), **mask)


def test_the_tiles_it_chooses_itself():
    check(*floats(150, 170, n_heads=3, n_kv_heads=1, d_head=64), window=100)
    if CUDA:
        for dtype in (torch.float16, torch.bfloat16):
            for d_head in (64, 128, 256):
                q, k, v = floats(1500, 2100, dtype, d_head=d_head)
                check(q, k, v, rtol=0, atol=torch.finfo(dtype).eps * v.abs().max().item(), window=1000)


def test_strides_do_not_change_the_numbers(small_tiles):
    q, k, v = floats(20, 40, d_head=16)
    expected = kernel(q, k, v)
    apart = [x.transpose(0, 2).contiguous().transpose(0, 2) for x in (q, k, v)]
    apart[0] = torch.stack([apart[0], apart[0]], dim=-1)[..., 0]
    apart[2] = torch.cat([v, v, v], dim=2)[..., 16:32]  # unlike k
    assert not any(x.is_contiguous() for x in apart)
    torch.testing.assert_close(kernel(*apart), expected, rtol=0, atol=0)
    one = k[:, :1]
    torch.testing.assert_close(
        kernel(q, one.expand(-1, 2, -1), one.expand(-1, 2, -1)), kernel(q, one, one), rtol=1e-6, atol=1e-6
    )


def test_what_lies_around_the_inputs_is_not_read(small_tiles):
    given = floats(21, 37, d_head=10)
    around = [torch.full((len(x) + 64, x.shape[1], 32), torch.nan) for x in given]
    inside = [place[32 : 32 + len(x), :, 11:21].copy_(x) for place, x in zip(around, given, strict=True)]
    torch.testing.assert_close(kernel(*inside), kernel(*given), rtol=0, atol=0)


def test_scores_too_large_for_exp_do_no_harm(small_tiles):
    q, k, v = floats(40, 40, scale=200.0)  # scores beyond 100,000; exp ends at 88
    check(q, k, v, rtol=1e-4, atol=1e-4)


def test_nothing_to_ask_and_nothing_to_see(small_tiles):
    q, k, v = floats(3, 4)
    assert kernel(q[:0], k, v).shape == (0, 6, 8)
    assert kernel(q, k[:0], v[:0]).eq(0).all()


@pytest.mark.parametrize("arch", ["llama", "mistral"])
def test_a_model_computes_with_it(arch):
    lm, ids = tiny(arch, "cuda" if CUDA else "cpu"), torch.tensor([[5, 9, 2, 7, 7, 30, 41, 3, 12]])
    with torch.no_grad():
        expected = lm.model(input_ids=ids.to(lm.device)).logits
        with own_attention(lm, lambda q, k, v, window: attend_triton(q, k, v, window=window)):
            ours = lm.model(input_ids=ids.to(lm.device)).logits
    assert not torch.equal(ours, expected)  # to the last bit it is only where the kernel was not asked
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


def test_what_it_cannot_take_is_answered_with_a_sentence(monkeypatch):
    q, k, v = floats(4, 4)
    asked = [
        ((q, k, v.double()), {}, "float32, float16 or bfloat16, the same"),
        ((q.double(), k.double(), v.double()), {}, "float32, float16 or bfloat16"),
        ((q[:, :5], k, v), {}, r"each KV head serve as many heads.*\(4, 5, 8\)"),
        ((q, k[..., :4], v[..., :4]), {}, "share d_head"),
        ((q, k, v[:3]), {}, "share d_head"),
        ((q, k, v), {"window": 0}, "at least 1 token; this one is 0"),
        ((q.requires_grad_(), k, v), {}, "torch.no_grad.*flash_backward"),
    ]
    for given, mask, sentence in asked:
        with pytest.raises(ReaderError, match=sentence):
            attend_triton(*given, **mask)
    monkeypatch.setattr(flash_triton, "INTERPRETED", True)
    with pytest.raises(ReaderError, match=r"interpreter multiplies bfloat16 wrongly.*q\.float\(\)"):
        attend_triton(*floats(4, 4, torch.bfloat16))


def test_without_triton_a_sentence_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "helpers.flash_triton")
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(ReaderError, match=r'pip install "token-journey\[gpu\]".*attend_tiled'):
        importlib.import_module("helpers.flash_triton")


@pytest.fixture(scope="module")
def for_gpus(tmp_path_factory):
    """What tests/compile_flash.py found, with no compiled kernel kept from before."""
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-m", "tests.compile_flash"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("d_head", [64, 128])
@pytest.mark.parametrize("chip, instruction, kib", [("8.0", "mma.sync", 163), ("9.0", "wgmma.mma_async", 227)])
def test_compiled_it_uses_the_tensor_cores_and_fits(for_gpus, chip, instruction, kib, d_head):
    """On A100 and H100: matrix instructions, loads ahead of their use, no register spilled to memory."""
    found = for_gpus[f"{chip} {d_head}"]
    assert found[instruction] > 0 and found["cp.async.cg"] > 0
    assert found["shared"] <= kib * 1024
    assert found["stack"] == 0
    whole_tiles, cut_tiles = found["compares"]
    assert whole_tiles == 0 < cut_tiles, "a tile that the mask does not cut tests nothing"


def test_compiled_for_a_gpu_without_tensor_cores_for_it_it_fits_too(for_gpus):
    found = for_gpus["7.5 64"]  # T4, as on Colab
    assert found["mma.sync"] == 0 < found["fma.rn.f32"]
    assert found["shared"] <= 64 * 1024


def test_compiled_it_refuses_tensors_of_the_cpu(for_gpus):
    assert "compiled for the GPU, but q, k and v are on cpu" in for_gpus["refusal"]
