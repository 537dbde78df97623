"""Every operation of a model, read from the model: the tensor it makes, its modules, its weights, its notebook."""

import re
from dataclasses import dataclass, field
from html import escape

from helpers.notebooks import stages
from helpers.trace import Trace, covered_modules

# trace key without its block number -> (what makes the tensor, the notebook that takes it apart)
EXPLAINED = {
    "embed": ("one vector a token, looked up", "02"),
    "block.norm1": ("each vector brought to a standard length", "04"),
    "block.q": ("queries", "03"),
    "block.k": ("keys", "03"),
    "block.v": ("values", "03"),
    "block.q_rot": ("queries turned by position", "02"),
    "block.k_rot": ("keys turned by position", "02"),
    "block.scores": ("queries times keys, divided by √d_head, masked", "03"),
    "block.pattern": ("softmax of every row", "03"),
    "block.mixed": ("values weighted with the pattern", "03"),
    "block.attn": ("heads side by side, output projection", "03"),
    "block.mid": ("added to the stream", "04"),
    "block.norm2": ("each vector brought to a standard length", "04"),
    "block.router": ("how well each expert suits each token", "04"),
    "block.expert_weights": ("shares of the chosen experts", "04"),
    "block.experts": ("the chosen experts", "04"),
    "block.gate": ("how strongly each feature responds", "04"),
    "block.up": ("the features", "04"),
    "block.act": ("activation function, times up where there is a gate", "04"),
    "block.mlp": ("features turned into a vector again", "04"),
    "block": ("added to the stream", "04"),
    "final_norm": ("last vectors brought to a standard length", "05"),
    "logits": ("each vector compared with every token's", "05"),
}
HEADINGS = ("tensor", "how it is made", "modules", "weights", "notebook")


@dataclass
class Operation:
    """One row of the map: a trace key without its block number, the modules that make it, the weights they own."""

    key: str
    modules: dict[str, int] = field(default_factory=dict)  # path without block number -> how often it occurs
    weights: int = 0

    def cells(self) -> tuple[str, ...]:
        how, notebook = EXPLAINED[self.key]
        modules = ", ".join(f"{times} × {path}" if times > 1 else path for path, times in self.modules.items())
        weights = f"{self.weights:,}" if self.weights else ""
        return re.sub("^block", "block{i}", self.key), how, modules, weights, notebook


class ModelMap(tuple):
    """The operations of a model in data-flow order; shows itself as a table."""

    @property
    def n_weights(self) -> int:
        return sum(operation.weights for operation in self)

    def __repr__(self) -> str:
        return "\n".join("  ".join(operation.cells()) for operation in self)

    def _repr_html_(self) -> str:
        pages = {f"{stage.number:02}": _page(stage) for stage in stages()}
        rows = ["".join(f'<th style="text-align: left">{name}</th>' for name in HEADINGS)]
        for operation in self:
            *texts, weights, notebook = operation.cells()
            cells = [f'<td style="text-align: left">{escape(text)}</td>' for text in texts]
            rows.append(
                "".join([*cells, f"<td>{weights}</td>", f'<td style="text-align: left">{pages[notebook]}</td>'])
            )
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def model_map(lm, seen: Trace) -> ModelMap:
    """Every tensor of the trace and every module of the model, once; tied weights count where they come first.

    KeyError where a module has no trace key or a key no explanation: nothing may be left out silently.
    """
    operations = {key: Operation(key) for key in dict.fromkeys(map(_without_number, seen)) if EXPLAINED[key]}
    keys, counted = covered_modules(lm), set()
    for path, module in lm.model.named_modules():
        own = [weight for weight in module.parameters(recurse=False) if id(weight) not in counted]
        counted.update(map(id, own))
        if _computes(path, module):
            operation = operations[_without_number(keys[path])]
            name = re.sub(r"^.*\.\d+(\.|$)", "", path) or "block"
            operation.modules[name] = operation.modules.get(name, 0) + 1
            operation.weights += sum(weight.numel() for weight in own)
    return ModelMap(operations.values())


def _computes(path: str, module) -> bool:
    """Lists of modules compute nothing; the model and its trunk are the whole, not a part."""
    return type(module).__name__ != "ModuleList" and (path.count(".") > 1 or not any(module.children()))


def _page(stage) -> str:
    """The notebook's number and name, linked once it exists."""
    name = f"{stage.number} {escape(stage.label)}"
    return f'<a href="{stage.link}">{name}</a>' if stage.link else name


def _without_number(key: str) -> str:
    return re.sub(r"^block\d+", "block", key)
