"""Models of a (pretended) hub and of local folders load safely, and each failure is one sentence."""

import json
import re
import shutil
import socket
from threading import Thread

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file
from transformers import T5Config

from helpers import ReaderError, load_model
from helpers.hub import answers, load_from_hub
from tests.fake_hub import fake_hub
from tests.tiny import tiny

ANYWHERE = "http://127.0.0.1:9"  # a port where nothing answers


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of models as the hub has them: one whole, and one for each thing that can be wrong."""
    root = tmp_path_factory.mktemp("hub")
    saved = tiny("llama")
    saved.model.save_pretrained(root / "owner" / "tiny")
    saved.tokenizer.save_pretrained(root / "owner" / "tiny")
    for name in ("unsafe", "code", "future", "t5"):
        shutil.copytree(root / "owner" / "tiny", root / "owner" / name)
    (root / "owner" / "unsafe" / "model.safetensors").unlink()
    torch.save(saved.model.state_dict(), root / "owner" / "unsafe" / "pytorch_model.bin")
    change_config(root / "owner" / "code", model_type="mine", auto_map={"AutoConfig": "mine.Config"})
    change_config(root / "owner" / "future", model_type="from2031")
    T5Config().save_pretrained(root / "owner" / "t5")
    return root


def change_config(folder, **changes):
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | changes
    settings = {name: value for name, value in settings.items() if value is not None}
    path.write_text(json.dumps(settings), encoding="utf-8")


@pytest.fixture(scope="module")
def server(models):
    """One address for all tests, because the hub's client remembers the first."""
    with fake_hub(models) as hub:
        yield hub


@pytest.fixture
def hub(server, tmp_path, monkeypatch):
    """The pretended hub as the one `HF_ENDPOINT` names, and an empty cache; gives the paths asked for."""
    address, asked = server
    asked.clear()
    set_endpoint(monkeypatch, address)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return asked


def set_endpoint(monkeypatch, address):
    # HF_ENDPOINT is read when the library is imported, which has happened long before
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", address)


def logits(lm):
    return lm.model(torch.tensor([lm.encode("Hello world")])).logits


def test_a_model_of_the_hub(hub):
    loaded = load_model("owner/tiny", device="cpu")
    assert loaded.name == "owner/tiny" and loaded.model.config._attn_implementation == "eager"
    assert torch.equal(logits(loaded), logits(tiny("llama")))
    assert any(path.endswith("model.safetensors") for path in hub)


def test_a_model_in_the_local_cache_needs_no_hub(hub, monkeypatch):
    load_from_hub("owner/tiny", torch.device("cpu"), torch.float32)
    set_endpoint(monkeypatch, ANYWHERE)
    model, _ = load_from_hub("owner/tiny", torch.device("cpu"), torch.float32)
    assert torch.equal(model.lm_head.weight, tiny("llama").model.lm_head.weight)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("owner/nowhere", "The hub has no model 'owner/nowhere', or it is private"),
        ("owner/unsafe", "owner/unsafe has no safetensors weights"),
        ("owner/code", "owner/code needs its own code, which is never run here"),
        ("owner/t5", "owner/t5 is not a decoder-only language model"),
        ("owner/future", "does not know the model_type in the config.json of owner/future .`from2031`."),
    ],
)
def test_a_model_that_cannot_be_loaded(hub, name, sentence):
    with pytest.raises(ReaderError, match=sentence):
        load_model(name)


def test_a_hub_that_cannot_be_reached(hub, monkeypatch):
    set_endpoint(monkeypatch, ANYWHERE)
    with pytest.raises(ReaderError, match="The hub cannot be reached and owner/fine is not in the local cache"):
        load_model("owner/fine")
    assert hub == []


def test_a_folder(models, hub):
    loaded = load_model(models / "owner" / "tiny", device="cpu")
    assert torch.equal(logits(loaded), logits(tiny("llama")))
    assert hub == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("smolm2-135m", "No model is called 'smolm2-135m'.* Did you mean 'smollm2-135m'?"),
        ("./no/such/folder", "No model is called './no/such/folder'"),
        ("", "No model is called ''"),
        ("x" * 5000, "No model is called 'xxx"),
        ("\0", "No model is called"),
        (None, "No model is called 'None'"),
        ("tests", "The folder tests holds no config.json"),
    ],
)
def test_an_unknown_name_is_answered_without_asking_the_hub(hub, monkeypatch, name, sentence, request):
    monkeypatch.chdir(request.config.rootpath)
    with pytest.raises(ReaderError, match=sentence):
        load_model(name)
    assert hub == []


@pytest.fixture
def folder(models, tmp_path):
    """A copy of the whole model, to be damaged."""
    return shutil.copytree(models / "owner" / "tiny", tmp_path / "saved")


def refused(folder):
    """The sentence with which the folder is refused."""
    with pytest.raises(ReaderError) as error:
        load_model(str(folder), device="cpu")
    assert str(folder) in str(error.value) and "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("file", ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe\0", b"[" * 100_000], ids=range(6))
def test_a_torn_file_of_settings_is_named(folder, file, content):
    (folder / file).write_bytes(content)
    assert re.search(f"{re.escape(str(folder / file))} is (empty|torn)", refused(folder))


@pytest.mark.parametrize("keep", [0, 3, 100, -1000])
def test_torn_weights_are_named(folder, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert re.search(f"{re.escape(str(path))} is (empty|torn).*: get it again", refused(folder))


def test_a_pointer_of_git_lfs_is_no_file(folder):
    for file in ("model.safetensors", "tokenizer.json"):
        (folder / file).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
        assert f"{file} is only Git LFS's pointer to the file: run `git lfs pull`" in refused(folder)


def test_a_folder_without_safetensors(folder):
    (folder / "model.safetensors").unlink()
    assert "has no weights (model.safetensors)" in refused(folder)
    torch.save(tiny("llama").model.state_dict(), folder / "pytorch_model.bin")
    assert "only pytorch_model.bin, a format that may run code" in refused(folder)


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        ('{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}', "model-2.safetensors is missing"),
        ('{"weight_map": {}}', "has no weight_map"),
        ("{}", "has no weight_map"),
        ("{", "index.json is torn"),
    ],
)
def test_a_shard_that_is_missing(folder, index, sentence):
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    (folder / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    assert sentence in refused(folder)


def test_a_model_in_shards(folder):
    path = folder / "model.safetensors"
    places = {key: "model-1.safetensors" for key in load_file(path)}
    path.rename(folder / "model-1.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": places}), encoding="utf-8"
    )
    (folder / "consolidated.safetensors").write_bytes(b"another library's file, which is not read")
    assert torch.equal(logits(load_model(folder, device="cpu")), logits(tiny("llama")))


def test_a_folder_without_a_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert "comes without tokenizer.json: save its tokenizer beside the weights" in refused(folder)


def test_a_tokenizer_that_is_none(folder):
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert "The tokenizer of" in refused(folder)


def test_a_tokenizer_of_another_model(folder):
    saved = load_model(folder, device="cpu")
    saved.tokenizer.add_tokens(["<more>"])
    with pytest.raises(ReaderError, match="gives the token 290, which the model, with its 290 tokens, does not know"):
        saved.encode("a<more>")


MISFITS = {
    "lack 9 of the model's tensors .model.layers.2.*random numbers would stand in their place": {
        "num_hidden_layers": 3, "layer_types": None
    },
    "hold the weights of block 1, but its config.json has num_hidden_layers = 1": {
        "num_hidden_layers": 1, "layer_types": None
    },
    "embed_tokens.weight is .290, 32. in the file, and .290, 64. by the configuration": {"hidden_size": 64},
    "down_proj.weight is .32, 48. in the file, and .32, 100. by the configuration": {"intermediate_size": 100},
    "k_proj.weight is .16, 32. in the file, and .24, 32. by the configuration": {"num_key_value_heads": 3},
    "names no model_type": {"model_type": None},
    "does not know the model_type in the config.json of .* .`from2031`.: correct it": {"model_type": "from2031"},
    "config.json of .* cannot be loaded .*'hidden_size' expected int, got str": {"hidden_size": "big"},
    "config.json of .* cannot be loaded .*not a multiple of the number of attention heads": {"num_attention_heads": 3},
    "config.json of .* cannot be loaded": {"num_attention_heads": 0},
    "model of .* cannot be loaded .*negative dimension": {"hidden_size": -32},
    "model of .* cannot be loaded .KeyError 'nosuch'.": {"hidden_act": "nosuch"},
    "model of .* cannot be loaded": {"vocab_size": 100},
}  # fmt: skip


@pytest.mark.parametrize("sentence", MISFITS)
def test_a_configuration_that_does_not_fit_the_weights(folder, sentence):
    change_config(folder, **MISFITS[sentence])
    assert re.search(sentence, refused(folder))


def test_no_memory_for_the_weights(folder, monkeypatch):
    def no_memory(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.")

    monkeypatch.setattr(torch.nn.Module, "to", no_memory)
    assert "does not fit into the free memory" in refused(folder)


@pytest.mark.parametrize("address", ["huggingface.co", "http://[half", "no address"])
def test_an_address_of_the_hub_that_is_none(monkeypatch, address):
    set_endpoint(monkeypatch, address)
    with pytest.raises(ReaderError, match="HF_ENDPOINT=.* is no address: write it with https:// in front"):
        load_model("owner/fine")


def test_a_hub_that_hangs_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=lambda: listening.accept()[0].close(), daemon=True).start()
        assert not answers(f"http://127.0.0.1:{listening.getsockname()[1]}")
