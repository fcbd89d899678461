"""Names of models become small random checkpoints in the scratch folder, which the real ``from_pretrained`` then loads."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from . import architectures
from .architectures import Family
from .common import Twin
from .paths import is_path
from .shrink import is_big, shrink_in_place, shrunk
from .tokenizers import Tokenizers

# About where a download comes from; a folder on disk needs none of it.
_ORIGIN = (
    "trust_remote_code", "token", "use_auth_token", "revision", "cache_dir", "local_files_only", "force_download", "resume_download", "proxies",
    "code_revision", "use_safetensors", "subfolder", "mirror", "variant", "tp_plan", "low_cpu_mem_usage_", "weights_only", "gguf_file",
)  # fmt: skip
_FAST = re.compile(r"flash|kernels-community|paged|/")  # implementations of attention that need a GPU or a download
_HEADS = re.compile(r"Classification|QuestionAnswering|MultipleChoice|TokenClassif|CTC|Detection|Segmentation|Reward")
_PREFERRED = (  # which head the checkpoint is written with; others begin anew, as they do in reality
    "AutoModelForImageTextToText", "AutoModelForVision2Seq", "AutoModelForSpeechSeq2Seq", "AutoModelForSeq2SeqLM", "AutoModelForMaskedLM",
    "AutoModelForCausalLM", "AutoModel",
)  # fmt: skip
_ENCODERS = ("bert", "electra", "deberta", "xlm-r", "camembert", "mpnet", "longformer", "esm", "ernie")
_SHOWN = {"AutoConfig": "config", "AutoTokenizer": "tokenizer"}


class Checkpoints:
    """Makes checkpoints, and gives them to whoever loads a model or a configuration."""

    def __init__(self, twin: Twin, tokenizers: Tokenizers) -> None:
        self._twin, self._tokenizers = twin, tokenizers
        self._hub = os.path.join(twin.root, "hub")
        self._made: dict[str, str] = {}
        self.last: str | None = None  # the name of the model that was loaded last

    # Folders

    def folder(self, name: Any, purpose: str, config: Any = None) -> str | None:
        """The folder with the twin of a model; ``None`` for one that the script wrote itself, and for a folder without a model.

        ``purpose`` is the name of the class that asks, or ``tokenizer`` and the like. ``config`` is the script's own configuration. Raises
        ``NoTwinError`` where there can be no twin.
        """
        twin = self._twin
        if not is_path(name):
            return None
        text = os.fsdecode(name).rstrip("/\\")
        local = twin.paths.found(text)
        if local is not None and twin.paths.inside(local):
            return None
        given = _json(os.path.join(local, "config.json")) if local is not None and os.path.isdir(local) else None
        without = local is not None and given is None
        if without and (purpose in ("tokenizer", "processor") or os.path.isfile(os.path.join(local or "", "adapter_config.json"))):
            return None
        if given is None:
            given = self._cached(text)
        key = f"{text}\n{_shape(config)}" if config is not None else text
        if key not in self._made and config is not None and text in self._made and self._fits(self._made[text], config):
            key = text
        if key not in self._made:
            self._made[key] = self._make(text, purpose, config, given, local)
        return self._made[key]

    def _cached(self, name: str) -> dict[str, Any] | None:
        """The ``config.json`` in the user's cache of the hub, read and nothing more."""
        cache = self._twin.plan.get("hub_cache")
        if not cache or name.count("/") > 1:
            return None
        place = Path(str(cache)) / f"models--{name.replace('/', '--')}" / "snapshots"
        with contextlib.suppress(OSError):
            for file in sorted(place.glob("*/config.json")):
                found = _json(str(file))
                if found:
                    return found
        return None

    def _fits(self, folder: str, config: Any) -> bool:
        found = _json(os.path.join(folder, "config.json"))
        return found is not None and _shape_of(found) == _shape(config)

    def _make(self, name: str, purpose: str, config: Any, given: dict[str, Any] | None, local: str | None) -> str:
        folder = os.path.join(self._hub, *[re.sub(r"[^\w.-]", "_", part) or "_" for part in re.split(r"[/\\]", name)][-2:])
        if os.path.exists(folder):
            folder = f"{folder}-{len(self._made)}"
        twin = self._twin
        with twin.working(), self._aside():
            family, small = self._config(name, purpose, config, given)
            os.makedirs(folder)
            ids = self._tokenizers.save(folder, name, family.style, _positions(small), local if given is not None else None, not family.known)
            _set_ids(small, ids)
            try:
                size, label = self._build(folder, family, small, purpose)
            except Exception as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise twin.no("model", name, f"a small {small.model_type} cannot be built ({type(error).__name__}: {str(error)[:120]})") from error
            bits = architectures.bits(name) or _bits_in(given)
            if bits:
                self._quantize(folder, label, bits)
        what = "" if family.known or given is not None or config is not None else ", a guess"
        packed = f", quantized to {bits} bit" if bits else ""
        self._described = f"random {small.model_type}, {size / 1e6:.1f} M parameters{packed}{what}"
        _write(os.path.join(folder, "twin.json"), {"by": self._described})
        return folder

    def _config(self, name: str, purpose: str, config: Any, given: dict[str, Any] | None) -> tuple[Family, Any]:
        twin = self._twin
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        if config is not None:
            family = architectures.by_name(name) or architectures.by_purpose(purpose)
            style = family.style if family.known else architectures.style_of(config.model_type)
            return Family(config.model_type, style, family.dtype), shrunk(config)
        if given is not None:
            return self._config_on_disk(name, given)
        why = architectures.impossible(name)
        if why is not None:
            raise twin.no("model", name, why)
        named = architectures.by_name(name)
        family = named or self._by_purpose(purpose)
        cls = _class_of(purpose)
        kind = getattr(getattr(cls, "config_class", None), "model_type", "") or getattr(cls, "model_type", "")
        if kind and kind != family.model_type:
            family = Family(kind, family.style if family.known else architectures.style_of(kind), family.dtype)
        if family.model_type not in CONFIG_MAPPING:
            raise twin.no("model", name, f"this transformers has no {family.model_type}")
        made = CONFIG_MAPPING[family.model_type](**family.switches)
        if purpose.endswith("ForCausalLM") and type(made).__name__ not in _names_of(purpose) and hasattr(made, "text_config"):
            pass
        return family, shrunk(made)

    def _by_purpose(self, purpose: str) -> Family:
        """What stands in for an unknown name: what the asking class is for, else what the script's classes are for."""
        found = re.search(r"Auto(?:Peft)?ModelFor\w+|Auto\w*Processor|AutoFeatureExtractor", self._twin.source)
        if not re.search(r"For[A-Z]|Processor|Extractor", purpose) and found:
            purpose = found[0]
        return architectures.by_purpose(purpose)

    def _config_on_disk(self, name: str, given: dict[str, Any]) -> tuple[Family, Any]:
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        kind = str(given.get("model_type"))
        if kind not in CONFIG_MAPPING:
            why = "its code lies in its repository, not in transformers" if given.get("auto_map") else f"this transformers has no {kind}"
            raise self._twin.no("model", name, why)
        method = (given.get("quantization_config") or {}).get("quant_method", "bitsandbytes")
        if method not in ("bitsandbytes", "mxfp4"):
            raise self._twin.no("model", name, f"its weights are packed by {method}")
        values = {key: value for key, value in given.items() if key not in ("quantization_config", "auto_map", "_name_or_path")}
        family = architectures.by_name(name)
        dtype = str(given.get("dtype") or given.get("torch_dtype") or "float32").replace("torch.", "")
        style = family.style if family is not None and family.model_type == kind else architectures.style_of(kind)
        return Family(kind, style, dtype), shrunk(CONFIG_MAPPING[kind].from_dict(values))

    def _build(self, folder: str, family: Family, config: Any, purpose: str) -> tuple[int, str]:
        """Write a random model; returns how many parameters it has, and the name of the class that it was made by."""
        import torch

        label, make = self._maker(config, purpose)
        torch.manual_seed(0)
        model = make(config)
        dtype = getattr(torch, family.dtype, torch.float32)
        model = model.to(dtype)
        model.config.architectures = [type(model).__name__]
        size = sum(parameter.numel() for parameter in model.parameters())
        generation = getattr(model, "generation_config", None)
        if generation is not None:
            for part in ("bos_token_id", "eos_token_id", "pad_token_id"):
                if hasattr(config, part):
                    setattr(generation, part, getattr(config, part))
        if getattr(model.config, "tie_word_embeddings", None) and hasattr(model, "tie_weights"):
            model.tie_weights()
        model.save_pretrained(folder)
        return size, label

    def _maker(self, config: Any, purpose: str) -> tuple[str, Callable[[Any], Any]]:
        """The class to write the checkpoint with: the one that asks, unless its head is made anew for each task."""
        import transformers

        own = _class_of(purpose)
        if own is not None and not purpose.startswith("Auto") and not _HEADS.search(purpose) and getattr(own, "config_class", None) is type(config):
            return purpose, own._from_config if hasattr(own, "_from_config") else own
        names = [name for name in _PREFERRED if name != "AutoModelForSeq2SeqLM" or getattr(config, "is_encoder_decoder", False)]
        if not str(config.model_type).startswith(_ENCODERS) and not any(word in config.model_type for word in ("bert", "mpnet")):
            names.remove("AutoModelForMaskedLM")
        if purpose.startswith("Auto") and own is not None and not _HEADS.search(purpose) and hasattr(own, "_model_mapping"):
            names = [purpose, *(name for name in names if name != purpose)]
        names += [purpose] if purpose.startswith("AutoModel") else []
        for name in names:
            auto = getattr(transformers, name, None)
            if auto is not None and type(config) in getattr(auto, "_model_mapping", {}):
                return name, auto.from_config
        raise ValueError(f"no class for {type(config).__name__}")

    def _quantize(self, folder: str, label: str, bits: int) -> None:
        """Let bitsandbytes quantize the checkpoint, as such repositories hold it."""
        import torch
        import transformers

        options: dict[str, Any] = {"load_in_8bit": True}
        if bits == 4:
            options = {
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": True,
                "bnb_4bit_compute_dtype": torch.bfloat16,
            }
        cls = getattr(transformers, label)
        place = "cuda:0" if self._twin.device in ("virtual", "cuda") else "cpu"
        model = cls.from_pretrained(folder, quantization_config=transformers.BitsAndBytesConfig(**options), device_map={"": place})
        for file in os.listdir(folder):
            if file.endswith((".safetensors", ".bin")):
                os.remove(os.path.join(folder, file))
        model.save_pretrained(folder)

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Work without a trace: random numbers, default type and default device of the script stay as they are."""
        import torch

        default = torch.get_default_dtype()
        state = torch.random.get_rng_state()
        torch.set_default_dtype(torch.float32)
        level = _quiet_logs()
        try:
            with torch.device("cpu"):
                yield
        finally:
            torch.set_default_dtype(default)
            torch.random.set_rng_state(state)
            _quiet_logs(level)
            gc.collect()

    # Loading

    def install(self) -> None:
        """Patch what loads models and configurations."""
        when = self._twin.when
        when("transformers.modeling_utils", self._patch_models)
        when("transformers.models.auto.modeling_auto", self._patch_auto)
        when("transformers.models.auto.configuration_auto", lambda module: self._twin.wrap(module.AutoConfig, "from_pretrained", self._around_config))
        when("transformers.configuration_utils", self._patch_config)
        when("transformers.generation.configuration_utils", lambda m: self._twin.wrap(m.GenerationConfig, "from_pretrained", self._around_config))
        for module in ("transformers", "transformers.pipelines"):
            when(module, self._patch_pipeline)
        when("sentence_transformers.SentenceTransformer", self._patch_sentences)

    def _patch_models(self, module: ModuleType) -> None:
        self._twin.wrap(module.PreTrainedModel, "from_pretrained", self._around_model)
        self._twin.wrap(module.PreTrainedModel, "__init__", self._around_init)
        self._twin.wrap(module.PreTrainedModel, "_from_config", self._around_from_config)

    def _patch_auto(self, module: ModuleType) -> None:
        for cls in list(vars(module).values()):  # each has a copy of its own
            if isinstance(cls, type) and cls.__module__ == module.__name__:
                if "from_pretrained" in vars(cls):
                    self._twin.wrap(cls, "from_pretrained", self._around_model)
                if "from_config" in vars(cls):
                    self._twin.wrap(cls, "from_config", self._around_from_config)

    def _patch_config(self, module: ModuleType) -> None:
        cls = getattr(module, "PreTrainedConfig", None) or module.PretrainedConfig
        self._twin.wrap(cls, "from_pretrained", self._around_config)

    def _patch_pipeline(self, module: ModuleType) -> None:
        if module.__name__ == "transformers.pipelines" and "pipeline" in vars(module):
            self._twin.wrap(module, "pipeline", self._around_pipeline)
            parent = sys.modules.get("transformers")
            if parent is not None and "pipeline" in vars(parent):
                self._twin.patches.set(parent, "pipeline", module.pipeline)

    def _around_model(self, original: Any) -> Callable[..., Any]:
        twin = self._twin

        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any = None, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if twin.busy or name is None:
                return original(cls, name, *args, **kwargs)
            self._plain(kwargs)
            config = kwargs.get("config")
            if config is not None and not hasattr(config, "to_dict"):  # the name of one
                kwargs.pop("config")
                config = None
            if config is not None and is_big(config):
                shrink_in_place(config)
            folder = self.folder(name, cls.__name__, config)
            if folder is None:
                return original(cls, twin.paths.found(name) or name, *args, **kwargs)
            for key in _ORIGIN:
                kwargs.pop(key, None)
            twin.replaced("model", name, (_json(os.path.join(folder, "twin.json")) or {}).get("by", ""))
            self.last = str(name)
            found = original(cls, folder, *args, **kwargs)
            _rename(found[0] if isinstance(found, tuple) else found, str(name))
            return found

        return from_pretrained

    def _around_config(self, original: Any) -> Callable[..., Any]:
        twin = self._twin

        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if twin.busy:
                return original(cls, name, *args, **kwargs)
            folder = self.folder(name, cls.__name__)
            if folder is None:
                return original(cls, twin.paths.found(name) or name, *args, **kwargs)
            for key in _ORIGIN:
                kwargs.pop(key, None)
            if str(kwargs.get("attn_implementation", "")):
                self._plain(kwargs)
            found = original(cls, folder, *args, **kwargs)
            config = found[0] if isinstance(found, tuple) else found
            if hasattr(config, "name_or_path"):
                config.name_or_path = str(name)
            twin.replaced("config", name, (_json(os.path.join(folder, "twin.json")) or {}).get("by", ""))
            return found

        return from_pretrained

    def _around_from_config(self, original: Any) -> Callable[..., Any]:
        def from_config(cls: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._twin.busy:
                self._plain(kwargs)
                for key in ("trust_remote_code", "code_revision"):
                    if cls.__name__.startswith("Auto"):
                        kwargs.pop(key, None)
            return original(cls, config, *args, **kwargs)

        return from_config

    def _around_init(self, original: Any) -> Callable[..., Any]:
        def init(model: Any, config: Any, *args: Any, **kwargs: Any) -> None:
            if not self._twin.busy and hasattr(config, "to_dict") and is_big(config):
                shrink_in_place(config)
                self._twin.replaced("model", type(model).__name__, f"random {config.model_type}, made small")
            original(model, config, *args, **kwargs)

        return init

    def _plain(self, kwargs: dict[str, Any]) -> None:
        """Ask for attention that needs no kernels of its own."""
        if self._twin.device == "cuda":
            return
        if kwargs.pop("use_flash_attention_2", None):
            kwargs["attn_implementation"] = "sdpa"
            self._twin.off("flash attention (replaced by sdpa)")
        wanted = kwargs.get("attn_implementation")
        if isinstance(wanted, str) and _FAST.search(wanted):
            kwargs["attn_implementation"] = "sdpa"
            self._twin.off(f"{wanted} (replaced by sdpa)")
        if isinstance(kwargs.get("max_memory"), dict):  # it is about the real model's size
            kwargs.pop("max_memory")

    def _around_pipeline(self, original: Any) -> Callable[..., Any]:
        twin = self._twin

        def pipeline(task: Any = None, model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is None and isinstance(task, str):
                model = {"summarization": "t5-small", "translation": "t5-small", "sentiment-analysis": "distilbert-base-uncased"}.get(task, "gpt2")
            if is_path(model):
                folder = self.folder(model, _PIPELINES.get(str(task), "AutoModelForCausalLM"))
                if folder is not None:
                    twin.replaced("pipeline", model, (_json(os.path.join(folder, "twin.json")) or {}).get("by", ""))
                    model = folder
            return original(task, model, *args, **kwargs)

        return pipeline

    def _patch_sentences(self, module: ModuleType) -> None:
        def make(original: Any) -> Callable[..., Any]:
            def init(model: Any, model_name_or_path: Any = None, *args: Any, **kwargs: Any) -> None:
                if model_name_or_path and kwargs.get("modules") is None:
                    from sentence_transformers import models

                    encoder = models.Transformer(str(model_name_or_path))
                    kwargs["modules"] = [encoder, models.Pooling(encoder.get_word_embedding_dimension())]
                    model_name_or_path = None
                for key in ("trust_remote_code", "revision", "cache_folder", "token", "local_files_only"):
                    kwargs.pop(key, None)
                original(model, model_name_or_path, *args, **kwargs)

            return init

        self._twin.wrap(module.SentenceTransformer, "__init__", make)


_PIPELINES = {
    "text-classification": "AutoModelForSequenceClassification",
    "sentiment-analysis": "AutoModelForSequenceClassification",
    "summarization": "AutoModelForSeq2SeqLM",
    "text2text-generation": "AutoModelForSeq2SeqLM",
    "translation": "AutoModelForSeq2SeqLM",
    "fill-mask": "AutoModelForMaskedLM",
    "feature-extraction": "AutoModel",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "automatic-speech-recognition": "AutoModelForSpeechSeq2Seq",
    "image-classification": "AutoModelForImageClassification",
    "image-text-to-text": "AutoModelForImageTextToText",
}


def _class_of(purpose: str) -> Any:
    transformers = sys.modules.get("transformers")
    with contextlib.suppress(Exception):
        return getattr(transformers, purpose)
    return None


def _json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _write(path: str, data: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(data, stream)


def _shape(config: Any) -> str:
    return _shape_of(config.to_dict())


def _shape_of(values: dict[str, Any]) -> str:
    """What has to agree between a configuration and the weights that are loaded by it."""
    sizes = {
        name: value
        for name, value in values.items()
        if (type(value) is int and re.search(r"size|layers?$|heads$|dim$|^n_|^d_|experts|positions|^num_h", name)) or name == "model_type"
    }
    inner = {name: _shape_of(value) for name, value in values.items() if isinstance(value, dict) and name.endswith("_config")}
    inner.pop("quantization_config", None)
    return json.dumps([sizes, inner], sort_keys=True, default=str)


def _positions(config: Any) -> int:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions", "seq_length"):
        value = getattr(text, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return 512


def _set_ids(config: Any, ids: dict[str, int | None]) -> None:
    """Let a configuration and the ones in it name the tokenizer's special tokens."""
    parts = [config, *(value for value in vars(config).values() if hasattr(value, "to_dict") and hasattr(value, "vocab_size"))]
    for part in parts:
        size = getattr(part, "vocab_size", None)
        for name, value in ids.items():
            if name not in ("bos_token_id", "eos_token_id", "pad_token_id"):
                if hasattr(part, name):
                    setattr(part, name, value)
            elif value is not None and isinstance(size, int) and value < size:
                setattr(part, name, value)
            elif name != "eos_token_id" and getattr(part, "is_encoder_decoder", False) is False and hasattr(part, name):
                setattr(part, name, None)
        if getattr(config, "is_encoder_decoder", False) and ids.get("pad_token_id") is not None:
            for name in ("decoder_start_token_id",):
                if hasattr(part, name):
                    setattr(part, name, ids["pad_token_id"])
            for name in ("forced_eos_token_id", "forced_bos_token_id"):
                if getattr(part, name, None) is not None:
                    setattr(part, name, ids["eos_token_id"])


def _bits_in(given: dict[str, Any] | None) -> int | None:
    found = (given or {}).get("quantization_config") or {}
    return 4 if found.get("load_in_4bit") or found.get("_load_in_4bit") else 8 if found.get("load_in_8bit") else None


def _rename(model: Any, name: str) -> None:
    """Let a model say the name that the script knows, not the folder of its twin."""
    for part in (model, getattr(model, "config", None)):
        if part is not None and hasattr(part, "name_or_path"):
            with contextlib.suppress(Exception):
                part.name_or_path = name


def _names_of(purpose: str) -> set[str]:
    mapping = getattr(_class_of(purpose), "_model_mapping", {})
    with contextlib.suppress(Exception):
        return {config.__name__ for config in mapping}
    return set()


def _quiet_logs(level: int | None = None) -> int | None:
    """Let transformers say errors alone; returns how much it said before. With ``level`` set that again."""
    with contextlib.suppress(Exception):
        from transformers.utils import logging

        before: int = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR if level is None else level)
        return before
    return None
