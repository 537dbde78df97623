"""Fixtures that several test files share."""

import pytest
import torch

from helpers import load_model
from helpers.bundles import BUNDLES
from helpers.fetch import cache_dir

DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


@pytest.fixture(scope="session")
def lm():
    """SmolLM2 in float32 on the CPU: the reference of every equality test."""
    return load_model("smollm2-135m", device="cpu")


@pytest.fixture(scope="session")
def gemma():
    """Gemma 3 270M in float32 on the CPU; tests run offline, so it must have been fetched before."""
    if not (cache_dir() / BUNDLES["gemma3-270m"].file_name).is_file():
        pytest.skip("needs Gemma's weights: run `python -m helpers fetch gemma3-270m`")
    return load_model("gemma3-270m", device="cpu")


@pytest.fixture(params=DEVICES)
def device(request):
    """Each device present, in turn."""
    return request.param
