"""The explorers: each takes tensors once and computes in the browser."""

from helpers.widgets.attention import AttentionExplorer
from helpers.widgets.cache import CacheExplorer
from helpers.widgets.flash import FlashExplorer
from helpers.widgets.generation import GenerationExplorer
from helpers.widgets.lens import LensExplorer
from helpers.widgets.neurons import NeuronExplorer
from helpers.widgets.rotation import RotationExplorer
from helpers.widgets.sampling import SamplingExplorer
from helpers.widgets.tokenize import TokenizeExplorer

__all__ = [
    "AttentionExplorer",
    "CacheExplorer",
    "FlashExplorer",
    "GenerationExplorer",
    "LensExplorer",
    "NeuronExplorer",
    "RotationExplorer",
    "SamplingExplorer",
    "TokenizeExplorer",
]
