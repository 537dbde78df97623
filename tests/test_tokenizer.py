"""The bundled tokenizers cut text as llama.cpp does, which reads the same vocabulary with its own code."""

import json

import pytest

from helpers.fetch import fetch
from tests.llama_cpp import EXPECTED, digest_of_texts, token_ids
from tests.tokenizer_texts import digest, texts


@pytest.fixture(params=["lm", "gemma"])
def model(request):
    return request.getfixturevalue(request.param)


def test_the_texts_are_the_ones_the_digests_were_made_of():
    assert json.loads(EXPECTED.read_text(encoding="utf-8"))["texts"] == digest_of_texts()


def test_a_thousand_texts_agree_with_llama_cpp(model):
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))[model.name].split()
    assert len(expected) == len(texts()) == 1000
    differ = [text for text, right in zip(texts(), expected, strict=True) if digest(model.encode(text)) != right]
    assert differ == []


def test_a_thousand_texts_agree_with_the_llama_cpp_installed_here(model):
    pytest.importorskip("xllamacpp", reason="needs the package xllamacpp (llama.cpp)")
    assert [model.encode(text) for text in texts()] == token_ids(fetch(model.name), texts())


def test_smollm2_gives_back_every_text(lm):
    assert [lm.decode(lm.encode(text)) for text in texts()] == texts()


def test_smollm2_cuts_each_digit_off_with_no_space_before_it(lm):
    assert lm.tokenizer.convert_ids_to_tokens(lm.encode("  0. 42")) == ["ĠĠ", "0", ".", "Ġ", "4", "2"]


def test_smollm2_adds_nothing_and_knows_its_special_tokens(lm):
    assert lm.encode("<|im_start|>") == [1]
    tokenizer = lm.tokenizer
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)


def test_smollm2_chat_template_inserts_a_system_prompt(lm):
    shown = lm.tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
    assert shown.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert shown.endswith("<|im_start|>user\nHi<|im_end|>\n")


def test_gemma_puts_bos_in_front_and_keeps_chinese_words_whole(gemma):
    ids = gemma.encode("我想吃苹果")
    assert gemma.tokenizer.convert_ids_to_tokens(ids) == ["<bos>", "我想", "吃", "苹果"]
    assert gemma.decode(ids) == "<bos>我想吃苹果"


def test_gemma_gives_back_every_text_but_for_its_sign_of_a_space(gemma):
    back = [gemma.tokenizer.decode(gemma.encode(text)[1:], clean_up_tokenization_spaces=False) for text in texts()]
    assert back == [text.replace("▁", " ") for text in texts()]
