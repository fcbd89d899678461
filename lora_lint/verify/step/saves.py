"""Saves of adapters and models: how many tensors a save would write, by the library's own account."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .models import adapters_of, kinds
from .patches import Patches
from .protocol import Record, own


class Saves:
    """Records each ``save_pretrained``, then lets it happen. ``after`` is called when a save was recorded."""

    def __init__(self, record: Record, busy: Callable[[], bool], after: Callable[[], None]) -> None:
        self._record, self._busy, self._after = record, busy, after
        self._inside = False

    def install(self, patches: Patches) -> None:
        """Look on at the models of PEFT and of transformers."""
        peft, transformers = sys.modules.get("peft"), sys.modules.get("transformers")
        if peft is not None:
            patches.wrap(peft.PeftModel, "save_pretrained", self._around)
        if transformers is not None:
            patches.wrap(transformers.PreTrainedModel, "save_pretrained", self._around)

    def ask(self, model: Any) -> None:
        """Record what a save of this model would write, without one."""
        self._note(model, {}, None)

    def _note(self, model: Any, kwargs: dict[str, Any], line: int | None) -> None:
        count = next((count for name, count in _COUNTS.items() if name in kinds(type(model))), None)
        if count is not None:
            with contextlib.suppress(Exception):  # what is wrong with the model, the save itself will say
                tensors, expected = count(model, kwargs)
                self._record.add("saves", {"line": line, "method": "save_pretrained", "tensors": tensors, "expected": expected}, 20)
                self._record.write()

    def _around(self, original: Any) -> Callable[..., Any]:
        def save_pretrained(model: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or self._busy() or own(sys._getframe(1).f_code.co_filename):
                return original(model, *args, **kwargs)
            self._inside = True
            try:
                self._note(model, kwargs, self._record.line())
                result = original(model, *args, **kwargs)
            finally:
                self._inside = False
            self._after()
            return result

        return save_pretrained


def _of_peft(model: Any, kwargs: dict[str, Any]) -> tuple[int, int]:
    from peft import get_peft_model_state_dict

    selected: list[str] | None = kwargs.get("selected_adapters")
    options = {"state_dict": kwargs.get("state_dict")}
    if "save_embedding_layers" in inspect.signature(get_peft_model_state_dict).parameters:
        options["save_embedding_layers"] = False  # else it may ask the hub
    tensors = 0
    for adapter in selected or list(model.peft_config):
        tensors += len(get_peft_model_state_dict(model, adapter_name=adapter, **options))
    return tensors, len(adapters_of(model))


def _of_transformers(model: Any, kwargs: dict[str, Any]) -> tuple[int, int]:
    adapters = adapters_of(model)
    if getattr(model, "_hf_peft_config_loaded", False):
        return len(model.get_adapter_state_dict()), len(adapters)
    state = kwargs.get("state_dict")
    return len(model.state_dict() if state is None else state), len(list(model.parameters()))


_COUNTS = {"PeftModel": _of_peft, "PreTrainedModel": _of_transformers}
