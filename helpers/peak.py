"""The most memory that a computation holds at once."""

from collections.abc import Callable

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_of(compute: Callable[[], object], device: torch.device | str = "cpu") -> int:
    """Bytes of the tensors that `compute()` makes and holds at one time, its result included, its inputs not.

    On a CUDA device the allocator's own count. Elsewhere the tensors that operations return are followed; what an
    operation takes and gives back within itself is not seen.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        compute()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    with _LiveTensors() as tensors:
        compute()
    return tensors.peak


def kept_for_gradients(compute: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, list[int]]:
    """What `compute()` returns, and the sizes (in numbers) of the tensors that torch keeps for its gradients."""
    kept = []

    def keep(tensor):
        kept.append(tensor)  # kept alive, so that no two of them have lain at the same place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = compute()
    return result, sorted({x.untyped_storage().data_ptr(): x.numel() for x in kept}.values())  # each of them once


class _LiveTensors(TorchDispatchMode):
    """Follows the tensors that operations have made and that are still in use."""

    def __init__(self):
        super().__init__()
        self.live, self.peak = {}, 0  # {storage: (weak reference, bytes)}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        returned = function(*args, **(kwargs or {}))
        given = {storage._cdata for storage in _storages((args, kwargs))}
        for storage in _storages(returned):
            if storage._cdata not in given:  # neither a view nor an operation in place
                self.live[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.live = {key: kept for key, kept in self.live.items() if not kept[0].expired()}
        self.peak = max(self.peak, sum(n_bytes for _, n_bytes in self.live.values()))
        return returned


def _storages(values) -> list[torch.UntypedStorage]:
    return [leaf.untyped_storage() for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
