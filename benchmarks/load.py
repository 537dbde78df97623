"""Time and memory of loading a bundled model, beside transformers' own reading of the same GGUF file.

    python benchmarks/load.py                      # SmolLM2: about a minute
    python benchmarks/load.py --model gemma3-270m  # Gemma: about three minutes, 3 GB of memory

Each way runs in a fresh process, with the file already in the system's cache of files. "load" is model and
tokenizer, without the imports; "peak" is the process's largest memory up to the end of its first forward.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time

import psutil

from helpers.bundles import BUNDLES

PROMPT = "The capital of France is"
WAYS = ("helpers, float32", "helpers, float16", "transformers, float32")


def load_with_helpers(name, dtype):
    from helpers.model import load_model

    start = time.perf_counter()
    loaded = load_model(name, "cpu", dtype)
    return loaded.model, loaded.tokenizer, time.perf_counter() - start


def load_with_transformers(name, dtype):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from helpers.fetch import fetch

    path = fetch(name)
    where = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    start = time.perf_counter()
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=dtype, attn_implementation="eager").eval()
    return model, tokenizer, time.perf_counter() - start


def peak_bytes():
    """The largest resident memory this process has had."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(way, name):
    """Load one way; print seconds, peak bytes, and digests of weights and logits as one line of JSON."""
    import torch

    library, dtype = way.split(", ")
    load = {"helpers": load_with_helpers, "transformers": load_with_transformers}[library]
    model, tokenizer, seconds = load(name, dtype)
    with torch.no_grad():
        logits = model(torch.tensor([tokenizer.encode(PROMPT)])).logits
    result = {"seconds": seconds, "peak": peak_bytes(), "logits": digest(logits)}
    print(json.dumps(result | {"weights": {key: digest(value) for key, value in model.state_dict().items()}}))


def digest(tensor):
    return hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()


def in_a_fresh_process(way, name):
    command = [sys.executable, __file__, "--model", name, "--way", way]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return json.loads(ran.stdout.splitlines()[-1])


def table(name, runs):
    """Print the comparison: our ways `runs` times each, transformers' once, because it is slow."""
    theirs = in_a_fresh_process(WAYS[-1], name)
    print(f"| {name} | load, s | transformers / this | peak, MB |\n|---|---|---|---|")
    for way in WAYS[:-1]:
        ours = [in_a_fresh_process(way, name) for _ in range(runs)]
        seconds, peak = (statistics.median(run[key] for run in ours) for key in ("seconds", "peak"))
        print(f"| {way} | {seconds:.1f} | {theirs['seconds'] / seconds:.1f} | {peak / 1e6:.0f} |")
    print(f"| {WAYS[-1]} | {theirs['seconds']:.1f} | 1 | {theirs['peak'] / 1e6:.0f} |\n")
    print(f"In float32, {agreement(in_a_fresh_process(WAYS[0], name), theirs)}.")


def agreement(ours, theirs):
    """One clause that says how many tensors, and whether the logits, are equal bit for bit."""
    equal = sum(ours["weights"].get(key) == value for key, value in theirs["weights"].items())
    logits = "equal" if ours["logits"] == theirs["logits"] else "different"
    return f"{equal} of {len(theirs['weights'])} tensors are equal bit for bit; the logits are {logits}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=BUNDLES, default="smollm2-135m")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    measure(arguments.way, arguments.model) if arguments.way else table(arguments.model, arguments.runs)
