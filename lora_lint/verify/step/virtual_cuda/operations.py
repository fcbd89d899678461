"""The mode on the level of ATen operations: the operands' devices are compared, and results get one."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .tags import CPU, device_of, put, state

# What takes operands on several devices, or asks for no values.
_MIXED = frozenset(
    "copy_ _to_copy _foreach_copy_ set_ _foreach_lerp_ is_same_size _has_compatible_shallow_copy_type equal resize_ _pin_memory".split()
)
# Indices may be on the CPU, whatever is indexed.
_INDEXED = frozenset("index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put".split())
_ON_INDICES = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"


class Operations(TorchDispatchMode):
    """Sees each operation, also those of the backward pass."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.rpartition("::")[2]
        indexed = name in _INDEXED and bool(args)
        operands = [leaf for leaf in tree_leaves((args[0], ()) if indexed else (args, kwargs)) if isinstance(leaf, torch.Tensor)]
        devices = [device_of(operand) for operand in operands]
        # A number from the CPU, as a tensor without dimensions, goes with everything.
        counted = {found for operand, found in zip(operands, devices) if found.type == "cuda" or operand.dim()}
        quiet = state.unchecked or torch._C._current_graph_task_id() != -1
        if indexed and not quiet and devices and devices[0].type == "cpu":
            indices = [leaf for leaf in tree_leaves(args[1]) if isinstance(leaf, torch.Tensor)]
            if any(device_of(index).type == "cuda" for index in indices):
                raise RuntimeError(_ON_INDICES)
        if len(counted) > 1 and not quiet and name not in _MIXED:
            _mixed(counted)
        out = func(*args, **kwargs)
        if name == "copy_" or indexed:
            target = devices[0] if devices else CPU
        else:
            target = next((found for found in devices if found.type == "cuda"), None) or (state.ambient if not operands else None) or CPU
        if target.type == "cuda":
            for leaf in tree_leaves(out):
                if isinstance(leaf, torch.Tensor) and not any(leaf is operand for operand in operands):
                    put(leaf, target)
        return out


def _mixed(devices: set[torch.device]) -> NoReturn:
    names = sorted(map(str, devices), reverse=True)
    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {names[0]} and {names[1]}!")
