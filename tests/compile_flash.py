"""Compiles the Triton kernel for GPUs that need not be here, and prints what came out, as JSON.

TRITON_INTERPRET=0 python -m tests.compile_flash
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from helpers.errors import ReaderError
from helpers.flash_triton import _attend, attend_triton, tiling

CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def compiled(capability, d_head):
    """The kernel as `attend_triton` launches it: float16, causal, contiguous, a long prompt, heads of their own."""
    tile = tiling(d_head, torch.float16, 4096, capability)
    fixed = dict.fromkeys(("q_number", "k_number", "v_number", "m_number"), 1)
    fixed |= {"GROUP": 1, "D_HEAD": d_head, "D_PADDED": d_head, "CAUSAL": True, "WINDOW": None}
    fixed |= {"BLOCK_Q": tile.block_q, "BLOCK_K": tile.block_k}
    types = dict.fromkeys(("q", "k", "v", "mixed"), "*fp16") | {"scale": "fp32"}
    signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in _attend.arg_names}
    aligned = ("q", "k", "v", "mixed", *(name for name in signature if name.endswith(("_token", "_head"))))
    attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(signature) if name in aligned}
    source = ASTSource(_attend, signature, fixed, attributes)
    target = GPUTarget("cuda", 10 * capability[0] + capability[1], 32)
    return triton.compile(source, target, options={"num_warps": tile.warps, "num_stages": tile.stages})


def facts(kernel):
    """Instructions counted in the assembly, bytes of shared memory, of spilled registers, and comparisons in loops."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        command = [str(CUOBJDUMP), "--dump-resource-usage", file.name]
        usage = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    names = ("mma.sync", "wgmma.mma_async", "cp.async.cg", "fma.rn.f32")
    counts = {name: kernel.asm["ptx"].count(name) for name in names}
    loops = [loop.partition("scf.yield")[0] for loop in kernel.asm["ttir"].split("scf.for")[1:]]
    compares = [loop.count("arith.cmp") for loop in loops]
    stack = int(re.search(r"STACK:(\d+)", usage)[1])
    return counts | {"shared": kernel.metadata.shared, "stack": stack, "compares": compares}


def refusal():
    """What `attend_triton` says of tensors that are not on the GPU."""
    try:
        attend_triton(*(torch.ones(4, 1, 16) for _ in range(3)))
    except ReaderError as error:
        return str(error)


if __name__ == "__main__":
    found = {f"{c[0]}.{c[1]} {d}": facts(compiled(c, d)) for c in ((8, 0), (9, 0)) for d in (64, 128)}
    print(json.dumps(found | {"7.5 64": facts(compiled((7, 5), 64)), "refusal": refusal()}))
