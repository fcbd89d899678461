"""From a loss back to the forwards that it came from, along the autograd graph and, where that is cut, by identity and value."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from .models import Model, tensors_in

_MARK = "lora_lint forward"  # key in the metadata of graph nodes, which lives as long as the node and keeps nothing alive
_NODES = 300_000


class Forward:
    """One call of a model as a whole: what goes into the report, and what is needed to recognise its results again."""

    def __init__(self, number: int, model: Model, entry: dict[str, Any]) -> None:
        self.number = number
        self.model = model
        self.entry = entry
        self.called: set[int] = set()
        self.checkpoints = 0
        self.reentrant: list[bool] = []
        self._results: list[Any] = []
        self._values: set[float] = set()

    def ended(self, output: Any) -> None:
        """Take note of the results, and mark the nodes of the graph that made them."""
        requires_grad = False
        for tensor in tensors_in(output):
            requires_grad = requires_grad or bool(tensor.requires_grad)
            if tensor.grad_fn is not None:
                tensor.grad_fn.metadata[_MARK] = self.number
            self._results.append(weakref.ref(tensor))
            if tensor.numel() == 1 and tensor.is_floating_point() and tensor.device.type != "meta":
                self._values.add(float(tensor.detach()))
        self.entry["output_requires_grad"] = requires_grad

    def made(self, tensor: Any) -> bool:
        """Whether a tensor shares its memory with one of the results, or has the value of one that is a single number."""
        place = _place(tensor)
        for reference in self._results:
            result = reference()
            if result is not None and (result is tensor or (place and _place(result) == place)):
                return True
        return bool(self._values) and tensor.numel() == 1 and float(tensor.detach()) in self._values

    @property
    def training(self) -> bool:
        """Whether it was a forward in training mode, outside of generation."""
        return bool(self.entry["training"]) and not self.entry["in_generate"]


def _place(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


def reach(tensors: Iterable[Any]) -> tuple[set[int], set[int]]:
    """The forwards, by number, and the leaf tensors, by identity, that tensors depend on with gradient."""
    forwards: set[int] = set()
    leaves: set[int] = set()
    todo = []
    for tensor in tensors:
        if tensor.grad_fn is not None:
            todo.append(tensor.grad_fn)
        elif tensor.requires_grad:
            leaves.add(id(tensor))
    seen = set(todo)
    while todo and len(seen) < _NODES:
        node = todo.pop()
        mark = node.metadata.get(_MARK)
        if mark is not None:
            forwards.add(mark)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
    return forwards, leaves
