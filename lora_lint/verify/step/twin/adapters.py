"""Adapters that the script loads and that are not there: made for the model at hand, of the configuration that is known of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .checkpoints import Checkpoints
from .common import Twin
from .paths import is_path

_LINEAR = ("Linear", "Conv1D", "Linear4bit", "Linear8bitLt")
_TASKS = (
    ("ForCausalLM", "CAUSAL_LM"),
    ("LMHead", "CAUSAL_LM"),
    ("ForSequenceClassification", "SEQ_CLS"),
    ("ForTokenClassification", "TOKEN_CLS"),
    ("ForConditionalGeneration", "SEQ_2_SEQ_LM"),
    ("ForQuestionAnswering", "QUESTION_ANS"),
)
_ORIGIN = ("token", "use_auth_token", "revision", "cache_dir", "local_files_only", "force_download", "subfolder")


class Adapters:
    """Makes adapters, and gives them to whoever loads one."""

    def __init__(self, twin: Twin, models: Checkpoints) -> None:
        self._twin, self._models = twin, models
        self._made: dict[str, str] = {}
        self._early: set[str] = set()  # described before the model was there that they are for

    def install(self) -> None:
        """Patch what loads adapters."""
        when, wrap = self._twin.when, self._twin.wrap
        when("peft.peft_model", self._patch_models)
        when("peft.config", self._patch_configs)
        when("peft.auto", lambda module: self._patch_auto(module))
        when("transformers.integrations.peft", lambda module: wrap(module.PeftAdapterMixin, "load_adapter", self._around_native))

    def _patch_models(self, module: ModuleType) -> None:
        self._twin.wrap(module.PeftModel, "from_pretrained", self._around_from_pretrained)
        self._twin.wrap(module.PeftModel, "load_adapter", self._around_load)

    def _patch_configs(self, module: ModuleType) -> None:
        for name in ("from_pretrained", "_get_peft_type"):
            if name in vars(module.PeftConfigMixin):
                self._twin.wrap(module.PeftConfigMixin, name, self._around_config)

    def _patch_auto(self, module: ModuleType) -> None:
        self._twin.wrap(module._BaseAutoPeftModel, "from_pretrained", self._around_config)

    def _folder(self, name: Any, model: Any = None, known: Any = None) -> str | None:
        """The folder with an adapter, with weights where a model is given; ``None`` for one that the script wrote itself."""
        twin = self._twin
        if not is_path(name):
            return None
        text = os.fsdecode(name)
        local = twin.paths.found(text)
        if local is not None and twin.paths.inside(local):
            return None
        if text not in self._made:
            name = re.sub(r"[^\w.-]", "_", os.path.basename(text.rstrip("/"))) or "adapter"
            folder = os.path.join(twin.root, "adapters", str(len(self._made)), name)
            os.makedirs(folder)
            self._made[text] = folder
            self._describe(folder, text, local, model, known)
        folder = self._made[text]
        if model is not None and not any(file.startswith("adapter_model") for file in os.listdir(folder)):
            if text in self._early:  # what was guessed before its model was known may not fit
                self._early.discard(text)
                self._describe(folder, text, local, model, known)
            with twin.working(), self._models._aside():
                try:
                    self._fill(folder, model)
                except Exception as error:
                    raise twin.no("adapter", text, f"{type(error).__name__}: {str(error)[:150]}") from error
        return folder

    def _describe(self, folder: str, name: str, local: str | None, model: Any, known: Any) -> None:
        """Write the configuration of an adapter."""
        with self._twin.working():
            config = self._config(name, local, model, known)
        with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as stream:
            json.dump(config, stream)
        if model is None:
            self._early.add(name)
        rank, targets = config.get("r"), config.get("target_modules")
        self._twin.replaced("adapter", name, f"random {config.get('peft_type')}" + (f", r={rank}, target_modules={targets}" if rank else ""))

    def _config(self, name: str, local: str | None, model: Any, known: Any) -> dict[str, Any]:
        if local is not None:
            path = os.path.join(local, "adapter_config.json")
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as stream:
                    return dict(json.load(stream))
        if known is not None and hasattr(known, "to_dict"):
            found = json.loads(json.dumps(known.to_dict(), default=_plain))
            found["inference_mode"] = True
            return dict(found)
        base = self._models.last or name
        config: dict[str, Any] = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "lora_dropout": 0.05, "bias": "none", "inference_mode": True}
        config["base_model_name_or_path"] = base
        task = next((task for part, task in _TASKS if model is not None and part in type(_inner(model)).__name__), None)
        if task is None and model is not None and not hasattr(_inner(model), "prepare_inputs_for_generation"):
            task = "FEATURE_EXTRACTION"  # a bare backbone
        config["task_type"] = task or ("SEQ_2_SEQ_LM" if self._twin.mentions("Seq2SeqLM") else "CAUSAL_LM")
        config["target_modules"] = _targets(model) or self._targets_of(base)
        return config

    def _targets_of(self, base: str) -> list[str] | None:
        """PEFT's default for the architecture of a name."""
        try:
            folder = self._models.folder(base, "AutoModelForCausalLM")
        except OSError:
            return None
        if folder is None:
            return None
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as stream:
            return _default_targets(json.load(stream)["model_type"])

    def _fill(self, folder: str, model: Any) -> None:
        """Write the weights of an adapter for a model of this kind."""
        import peft

        base = _inner(model)
        config = peft.PeftConfig.from_pretrained(folder)
        config.inference_mode = False
        fresh = type(base)(base.config) if hasattr(base, "config") and hasattr(base.config, "to_dict") else None
        if fresh is None:
            import copy

            fresh = copy.deepcopy(base)
        wrapped = peft.get_peft_model(fresh, config)
        wrapped.peft_config["default"].base_model_name_or_path = config.base_model_name_or_path
        name = config.base_model_name_or_path
        wrapped.save_pretrained(folder)
        path = os.path.join(folder, "adapter_config.json")
        with open(path, encoding="utf-8") as stream:
            written = json.load(stream)
        written["base_model_name_or_path"] = name
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(written, stream)

    def _around_from_pretrained(self, original: Any) -> Callable[..., Any]:
        twin = self._twin

        def from_pretrained(cls: Any, model: Any, model_id: Any, *args: Any, **kwargs: Any) -> Any:
            if not twin.busy:
                folder = self._folder(model_id, model, kwargs.get("config"))
                model_id = self._place(model_id, folder, kwargs)
            return original(cls, model, model_id, *args, **kwargs)

        return from_pretrained

    def _around_load(self, original: Any) -> Callable[..., Any]:
        def load_adapter(model: Any, model_id: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._twin.busy:
                model_id = self._place(model_id, self._folder(model_id, model), kwargs)
            return original(model, model_id, *args, **kwargs)

        return load_adapter

    def _around_native(self, original: Any) -> Callable[..., Any]:
        def load_adapter(model: Any, peft_model_id: Any = None, *args: Any, **kwargs: Any) -> Any:
            if not self._twin.busy and peft_model_id is not None and kwargs.get("adapter_state_dict") is None:
                peft_model_id = self._place(peft_model_id, self._folder(peft_model_id, model), kwargs)
            return original(model, peft_model_id, *args, **kwargs)

        return load_adapter

    def _around_config(self, original: Any) -> Callable[..., Any]:
        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if not self._twin.busy:
                self._folder(name)
                if cls.__name__.startswith("AutoPeft"):  # it asks for the configuration and the weights itself
                    return original(cls, name, *args, **kwargs)
                name = self._place(name, self._made.get(os.fsdecode(name)), kwargs)
            return original(cls, name, *args, **kwargs)

        return from_pretrained

    def _place(self, name: Any, folder: str | None, kwargs: dict[str, Any]) -> Any:
        if folder is None:
            return self._twin.paths.found(name) or name if is_path(name) else name
        for key in _ORIGIN:
            kwargs.pop(key, None)
        return folder


def _inner(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else str(getattr(value, "value", value))


def _default_targets(kind: str) -> list[str] | None:
    from peft.utils import other

    mapping = getattr(other, "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING", None)
    if mapping is None:
        from peft.utils import constants

        mapping = constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    found = mapping.get(kind)
    return list(found) if found else None


def _targets(model: Any) -> list[str] | None:
    if model is None:
        return None
    base = _inner(model)
    found = _default_targets(getattr(getattr(base, "config", None), "model_type", ""))
    if found:
        return found
    names = {name.rpartition(".")[2] for name, part in base.named_modules() if type(part).__name__ in _LINEAR}
    return sorted(name for name in names if not name.isdigit() and name not in ("lm_head", "score", "classifier")) or None
