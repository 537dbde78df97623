"""llama.cpp as a second opinion on the bundled models' token ids, through `xllamacpp`'s prebuilt wheel.

python -m tests.llama_cpp    writes tests/data/token_ids.json again
"""

import hashlib
import json
from pathlib import Path
from urllib.request import Request, urlopen

from helpers.bundles import BUNDLES
from helpers.fetch import fetch
from tests.tokenizer_texts import digest, texts

EXPECTED = Path(__file__).parent / "data" / "token_ids.json"


def token_ids(model_file: Path, prompts: list[str]) -> list[list[int]]:
    """What llama.cpp makes of each prompt, with `<bos>` where the model wants it and special tokens read."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file)
    parameters.port, parameters.n_ctx, parameters.warmup, parameters.verbosity = 0, 256, False, 0
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    return [_ask(server.listening_address, prompt) for prompt in prompts]


def _ask(address: str, prompt: str) -> list[int]:
    question = json.dumps({"content": prompt, "add_special": True, "parse_special": True}).encode()
    with urlopen(Request(f"{address}/tokenize", question, {"Content-Type": "application/json"}), timeout=60) as answer:
        return json.load(answer)["tokens"]


def digest_of_texts() -> str:
    """Changes when the texts do, which would make the stored digests meaningless."""
    return hashlib.sha256("\0".join(texts()).encode()).hexdigest()


if __name__ == "__main__":
    expected = {name: " ".join(map(digest, token_ids(fetch(name), texts()))) for name in BUNDLES}
    EXPECTED.write_text(json.dumps({"texts": digest_of_texts()} | expected, indent=1) + "\n", encoding="utf-8")
