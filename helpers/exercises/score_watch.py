"""Watch which tensors a function makes out of queries and keys: whole rows of scores, or a tile at a time?"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

MAKES_NEW = ("aten::new_", "aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::empty_like")


class ScoreWatch(TorchDispatchMode):
    """While it is on, follows every tensor made out of both q and k, by however many steps.

    longest: shape of the one with the longest axis (a view counts); most: the numbers in such tensors that were alive
    at one time; fused: was torch's own attention called? Numbers taken out of tensors are not followed.
    """

    def __init__(self, q: Tensor, k: Tensor):
        super().__init__()
        self.longest, self.most, self.fused = (0,), 0, False
        self.made_from = {}  # {storage: (weak reference, what it was made from, how many numbers it holds)}
        for name, tensor in (("q", q), ("k", k)):
            self._note(tensor, frozenset(name))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        returned = function(*args, **(kwargs or {}))
        self.made_from = {key: kept for key, kept in self.made_from.items() if not kept[0].expired()}
        self.fused |= "scaled_dot_product" in function.name()
        if not function.name().startswith(MAKES_NEW):  # those take only a shape and a device
            origin = frozenset().union(*map(self._origin, _tensors((args, kwargs))))
            for tensor in _tensors(returned):
                self._note(tensor, origin)
        return returned

    def _origin(self, tensor: Tensor) -> frozenset[str]:
        return self.made_from.get(tensor.untyped_storage()._cdata, (None, frozenset()))[1]

    def _note(self, tensor: Tensor, origin: frozenset[str]) -> None:
        storage = tensor.untyped_storage()
        size = storage.nbytes() // tensor.element_size()
        self.made_from[storage._cdata] = StorageWeakRef(storage), origin, size
        if len(origin) == 2:
            self.longest = max(self.longest, tuple(tensor.shape), key=lambda shape: max(shape, default=0))
            self.most = max(self.most, sum(size for _, made, size in self.made_from.values() if len(made) == 2))


def _tensors(values) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))
