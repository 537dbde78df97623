"""The real model: exactly the file's weights, ready to be looked into; a sentence for each wrong request."""

import gguf
import numpy as np
import pytest
import torch
from transformers import GenerationConfig

from helpers import ReaderError, load_model, model
from helpers.fetch import fetch
from helpers.gguf_file import GgufFile
from helpers.hub import is_too_large
from tests.tiny import tiny


def test_every_tensor_equals_ggufs_own_dequantization():
    path = fetch("smollm2-135m")
    ours, theirs = GgufFile(path), gguf.GGUFReader(path).tensors
    assert list(ours.tensors) == [tensor.name for tensor in theirs]
    for tensor in theirs:
        right = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(ours.read(tensor.name), right.reshape(ours.tensors[tensor.name].shape)), tensor.name


def test_the_models_weights_are_the_files(lm):
    file, weights = GgufFile(fetch("smollm2-135m")), lm.model.state_dict()
    assert len(weights) == len(file.tensors) + 1  # the output layer is the embedding again
    assert lm.model.lm_head.weight is lm.model.model.embed_tokens.weight
    for name, ours in (
        ("blk.7.ffn_down", "layers.7.mlp.down_proj"),
        ("blk.29.attn_v", "layers.29.self_attn.v_proj"),
    ):
        assert np.array_equal(weights[f"model.{ours}.weight"].numpy(), file.read(f"{name}.weight"))


def test_queries_lie_as_transformers_rotates_them(lm):
    stored = GgufFile(fetch("smollm2-135m")).read("blk.0.attn_q.weight")  # pairs (0, 1), (2, 3) … rotate together
    ours = lm.model.model.layers[0].self_attn.q_proj.weight.numpy()  # pairs (0, 32), (1, 33) … rotate together
    head = slice(64, 128)
    assert np.array_equal(ours[head][:32], stored[head][0::2])
    assert np.array_equal(ours[head][32:], stored[head][1::2])


def test_paris(lm, device):
    on_device = load_model(device=device)
    ids = torch.tensor([on_device.encode("The capital of France is")], device=on_device.device)
    p, best = on_device.model(ids).logits[0, -1].softmax(-1).max(-1)
    assert on_device.decode([best]) == " Paris"
    assert p.item() == pytest.approx(0.773, abs=0.005)


def test_it_is_ready_to_be_looked_into(lm):
    assert not lm.model.training
    assert not any(weight.requires_grad for weight in lm.model.parameters())
    assert lm.model.dtype == torch.float32
    ids = torch.tensor([lm.encode("one two three")])
    patterns = lm.model(ids, output_attentions=True).attentions
    assert [tuple(pattern.shape) for pattern in patterns] == [(1, 9, 3, 3)] * 30
    assert "Llama" not in repr(lm) and repr(lm) == "LoadedModel('smollm2-135m', torch.float32, cpu)"


def steering(lm) -> dict:
    """What a model's own settings say of generation, beyond what every model's say."""
    settings = lm.model.generation_config.to_diff_dict()
    return {name: value for name, value in settings.items() if name != "transformers_version"}


def test_nothing_but_the_special_ids_steers_generation(lm, tmp_path):
    assert steering(lm) == {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    saved = tiny("llama")
    saved.model.save_pretrained(tmp_path)
    saved.tokenizer.save_pretrained(tmp_path)
    own = {"do_sample": True, "temperature": 0.1, "top_k": 3, "top_p": 0.5, "repetition_penalty": 1.3, "min_p": 0.1}
    ids = {f"{name}_token_id": getattr(saved.tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    GenerationConfig(**own, **ids).save_pretrained(tmp_path)
    assert steering(load_model(str(tmp_path), "cpu")) == ids


def test_the_configuration_is_smollm2s(lm):
    config = lm.config
    shape = (
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
    )
    assert shape == (30, 576, 9, 3)
    assert (config.intermediate_size, config.vocab_size, config.max_position_embeddings) == (
        1536,
        49152,
        8192,
    )
    assert config.rms_norm_eps == 1e-5 and config.rope_parameters["rope_theta"] == 100_000


def test_loading_again_gives_the_same_object(lm):
    assert load_model("smollm2-135m", "cpu", "float32") is lm
    assert load_model("smollm2-135m", torch.device("cpu"), torch.float32) is lm


def test_an_empty_prompt(lm):
    with pytest.raises(ReaderError, match="prompt is empty"):
        lm.encode("")


def test_a_prompt_beyond_the_context(lm):
    assert len(lm.encode(" a" * 8192)) == 8192
    with pytest.raises(ReaderError, match="has 8193 tokens, but smollm2-135m has 8192 places"):
        lm.encode(" a" * 8193)


@pytest.mark.parametrize(
    "device", ["gpu", "tpu", "CPU", "", 0, "cpu:", "cpu:x", "cpu:1", "cuda:99", torch.device("meta")], ids=str
)
def test_a_device_that_is_not_there(device):
    with pytest.raises(ReaderError, match=f"no device '{device}': of 'cpu', 'cuda' and 'mps' it has 'cpu'"):
        load_model(device=device)


def test_the_devices_of_a_machine_with_two_gpus_or_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(model.pick_device(name)) for name in (None, "cuda", "cuda:1", "cpu:0")] == [
        "cuda", "cuda", "cuda:1", "cpu:0"
    ]  # fmt: skip
    with pytest.raises(ReaderError, match="no device 'cuda:2': of 'cpu', 'cuda' and 'mps' it has 'cpu' and 'cuda'"):
        model.pick_device("cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert model.pick_device(None) == torch.device("cpu")
    with pytest.raises(ReaderError, match="no device 'cuda': of 'cpu', 'cuda' and 'mps' it has 'cpu';"):
        model.pick_device("cuda")


ODD_DTYPES = ["int8", "float33", "fp16", "float8", "float8_e4m3fn", "", [], True, torch.int64, torch.float8_e4m3fn]


@pytest.mark.parametrize("dtype", ODD_DTYPES, ids=str)
def test_a_type_that_weights_cannot_have(dtype):
    with pytest.raises(ReaderError, match="no type for weights: give 'float32', 'float16', 'bfloat16', 'float64'"):
        load_model(dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "torch.float64", torch.float64])
def test_a_type_may_be_named_or_given(dtype):
    assert model.pick_dtype(dtype, torch.device("cpu")) is torch.float64


@pytest.mark.parametrize(("capability", "dtype"), [((7, 5), torch.float16), ((8, 0), torch.bfloat16)])
def test_auto_asks_the_gpu_for_its_capability(monkeypatch, capability, dtype):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert model.pick_dtype("auto", torch.device("cuda")) is dtype
    assert model.pick_dtype(None, torch.device("cuda")) is torch.float32
    assert model.pick_dtype("auto", torch.device("cpu")) is torch.float32


def test_only_a_model_larger_than_the_gpu_is_spread(lm, monkeypatch):
    weights_mb = 538  # float32
    for free_mb, spread in ((weights_mb * 2, False), (weights_mb, True)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free_mb: (free * 10**6, 16 * 10**9))
        assert is_too_large(lm.config, torch.float32, torch.device("cuda")) is spread
    assert not is_too_large(lm.config, torch.float16, torch.device("cuda"))
    assert not is_too_large(lm.config, torch.float32, torch.device("cpu"))


def test_a_torn_or_foreign_file_is_named(tmp_path):
    whole = fetch("smollm2-135m").read_bytes()
    for name, content in (
        ("torn.gguf", whole[:1_000_000]),
        ("other.gguf", b"PK\3\4" + whole[4:200]),
        ("no.gguf", b""),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReaderError, match=f"{name} is no whole GGUF file"):
            GgufFile(tmp_path / name)
    (tmp_path / "short.gguf").write_bytes(whole[:50_000_000])
    with pytest.raises(ReaderError, match=r"short.gguf ends in the middle of token_embd|blk"):
        file = GgufFile(tmp_path / "short.gguf")
        [file.read(name) for name in file.tensors]


@pytest.mark.parametrize("prompt", ["\x04", "half \ud83d"])
def test_a_prompt_that_no_token_stands_for_gets_one_sentence(lm, prompt):
    with pytest.raises(ReaderError):
        lm.encode(prompt)


@pytest.mark.parametrize("prompt", [None, 5, b"Hello", ["Hello"]], ids=repr)
def test_a_prompt_that_is_no_text(lm, prompt):
    with pytest.raises(ReaderError, match="which is no text: put it between quotation marks"):
        lm.encode(prompt)


@pytest.mark.parametrize("ids", [[1.5], [49152], [-1], "Hello", None, [[1]]], ids=repr)
def test_ids_that_are_no_text(lm, ids):
    with pytest.raises(ReaderError, match="ids: (token ids are whole|a flat list|there is no token)"):
        lm.decode(ids)


def test_a_null_character_is_a_token_like_any_other(lm):
    assert lm.decode(lm.encode("a\0b")) == "a\0b"
