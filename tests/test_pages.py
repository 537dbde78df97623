"""Every page runs to its end, checks and solved exercises included, whatever the prompt and the architecture."""

import pytest

from helpers import notebooks
from tests.page import run_page
from tests.tiny import tiny

PAGES = notebooks.names()
PROMPTS = ("a", " ", "我想吃苹果", 'a<b & "c"\n\t<eos>', "👩‍👩‍👧 e\u0301", "the the the the", "word " * 20)


@pytest.mark.parametrize("arch", ["llama", "gpt2", "qwen2", "qwen3"])
@pytest.mark.parametrize("name", PAGES)
def test_page_runs_on_other_architectures(name, arch):
    assert "same as the model" in run_page(name, tiny(arch))


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("name", PAGES)
def test_page_runs_on_odd_prompts(name, prompt):
    assert "same as the model" in run_page(name, tiny("llama"), prompt)


@pytest.mark.parametrize("name", PAGES)
def test_page_runs_on_the_real_model(name, lm):
    printed = run_page(name, lm, "我想吃苹果")
    assert "same as the model" in printed
