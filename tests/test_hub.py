"""Models of a (pretended) hub and of local folders load safely, and each failure is one sentence."""

import json
import shutil

import huggingface_hub
import pytest
import torch
from transformers import T5Config

from helpers import ReaderError, load_model
from helpers.hub import load_from_hub
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
        ("owner/future", "owner/future cannot be loaded: .*from2031"),
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
        ("tests", "The folder tests holds no config.json"),
    ],
)
def test_an_unknown_name_is_answered_without_asking_the_hub(hub, monkeypatch, name, sentence, request):
    monkeypatch.chdir(request.config.rootpath)
    with pytest.raises(ReaderError, match=sentence):
        load_model(name)
    assert hub == []


def test_a_folder_that_lacks_weights_is_refused(tmp_path):
    lm = tiny("llama")
    lm.model.save_pretrained(tmp_path)
    lm.tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["num_hidden_layers"] += 1
    config.pop("layer_types", None)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ReaderError, match="random numbers would stand in their place"):
        load_model(str(tmp_path))
