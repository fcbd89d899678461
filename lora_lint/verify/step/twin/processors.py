"""Processors of pictures and sound: made with their own defaults in the twin's sizes, as far as their class allows."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from .checkpoints import Checkpoints
from .common import Twin

_AUTO = {
    "AutoProcessor": ("processing_auto", "PROCESSOR_MAPPING_NAMES"),
    "AutoImageProcessor": ("image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES"),
    "AutoFeatureExtractor": ("feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES"),
    "AutoVideoProcessor": ("video_processing_auto", "VIDEO_PROCESSOR_MAPPING_NAMES"),
}
_PARTS = {"image_processor": "AutoImageProcessor", "feature_extractor": "AutoFeatureExtractor", "video_processor": "AutoVideoProcessor"}
_BASES = (
    ("transformers.processing_utils", "ProcessorMixin"),
    ("transformers.image_processing_base", "ImageProcessingMixin"),
    ("transformers.image_processing_utils", "ImageProcessingMixin"),
    ("transformers.video_processing_utils", "BaseVideoProcessor"),
    ("transformers.feature_extraction_utils", "FeatureExtractionMixin"),
)


def install(twin: Twin, models: Checkpoints) -> None:
    """Patch what loads processors."""

    def around(original: Any) -> Callable[..., Any]:
        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if twin.busy:
                return original(cls, name, *args, **kwargs)
            folder = models.folder(name, cls.__name__)
            if folder is None:
                return original(cls, twin.paths.found(name) or name, *args, **kwargs)
            with twin.working():
                try:
                    made = _make(cls, folder, kwargs)
                except ImportError:  # of what the real one needs as well
                    raise
                except Exception as error:
                    raise twin.no("processor", name, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:150]}") from error
            twin.replaced("processor", name, f"{type(made).__name__} with its defaults")
            return made

        return from_pretrained

    def patch(module_name: str, class_name: str) -> None:
        def action(module: Any) -> None:
            cls = getattr(module, class_name, None)
            if cls is not None and "from_pretrained" in vars(cls) and getattr(cls, "__module__", "") == module_name:
                twin.wrap(cls, "from_pretrained", around)

        twin.when(module_name, action)

    for class_name, (module_name, _) in _AUTO.items():
        patch(f"transformers.models.auto.{module_name}", class_name)
    for module_name, class_name in _BASES:
        patch(module_name, class_name)


def _make(cls: Any, folder: str, kwargs: dict[str, Any]) -> Any:
    """A processor of the class, or of the one that the Auto class stands for."""
    import transformers

    with open(os.path.join(folder, "config.json"), encoding="utf-8") as stream:
        config = json.load(stream)
    kind = config["model_type"]
    if cls.__name__ == "AutoProcessor":
        name = _mapped("AutoProcessor", kind)
        if name is None:
            for other in ("AutoImageProcessor", "AutoFeatureExtractor"):
                if _mapped(other, kind):
                    return _make(getattr(transformers, other), folder, kwargs)
            return transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        return _whole(getattr(transformers, name), folder, config, kwargs)
    if cls.__name__ in _AUTO:
        name = _mapped(cls.__name__, kind)
        if name is None:
            raise ValueError(f"transformers has none for {kind}")
        return _part(getattr(transformers, name), config, kwargs)
    return _whole(cls, folder, config, kwargs) if hasattr(cls, "get_attributes") or hasattr(cls, "attributes") else _part(cls, config, kwargs)


def _mapped(auto: str, kind: str) -> str | None:
    from transformers.utils import is_torchvision_available

    module, mapping = _AUTO[auto]
    found = getattr(import_module(f"transformers.models.auto.{module}"), mapping).get(kind)
    if isinstance(found, dict):  # by what it computes with
        found = found.get("torchvision" if is_torchvision_available() else "pil") or next(iter(found.values()), None)
    if isinstance(found, (tuple, list)):
        found = next(filter(None, found), None)
    return found


def _whole(cls: Any, folder: str, config: dict[str, Any], kwargs: dict[str, Any]) -> Any:
    """A processor made of a tokenizer and others."""
    import transformers
    from transformers.utils import is_torchvision_available

    attributes = cls.get_attributes() if hasattr(cls, "get_attributes") else cls.attributes
    parts: dict[str, Any] = {}
    for attribute in attributes:
        if "tokenizer" in attribute:
            parts[attribute] = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        elif attribute == "video_processor" and not is_torchvision_available():
            raise ImportError(f"{cls.__name__} requires the torchvision library, which is not installed")
        elif attribute in _PARTS:
            parts[attribute] = _make(getattr(transformers, _PARTS[attribute]), folder, kwargs)
        else:
            raise ValueError(f"{cls.__name__} needs a {attribute}")
    vision = config.get("vision_config") or {}
    options = {}
    if cls.__name__.startswith(("Llava", "Pixtral")) and isinstance(vision.get("patch_size"), int):
        options = {"patch_size": vision["patch_size"], "vision_feature_select_strategy": config.get("vision_feature_select_strategy", "default")}
        if str(vision.get("model_type", "")).startswith("clip"):
            options["num_additional_image_tokens"] = 1  # the first is for the class
    tokenizer = parts.get("tokenizer")
    if tokenizer is not None and tokenizer.chat_template and not cls.__name__.startswith("Whisper"):
        options["chat_template"] = tokenizer.chat_template
    with _any_class():
        return cls(**parts, **options)


def _part(cls: Any, config: dict[str, Any], kwargs: dict[str, Any]) -> Any:
    size = (config.get("vision_config") or config).get("image_size")
    options: dict[str, Any] = {}
    before = getattr(cls, "size", None)
    if isinstance(size, int):
        if isinstance(before, dict) and "longest_edge" not in before:
            options = {"size": dict.fromkeys(before, size)}
        elif before is None and "CLIP" in cls.__name__:
            options = {"size": {"shortest_edge": size}}
        elif before is None and "Qwen" not in cls.__name__:
            options = {"size": {"height": size, "width": size}}
        if "CLIP" in cls.__name__ or getattr(cls, "crop_size", None):
            options["crop_size"] = {"height": size, "width": size}
    made = cls(**options)
    patch = (config.get("vision_config") or config).get("patch_size")
    if isinstance(size, int) and isinstance(patch, int) and cls.__name__.startswith("Siglip"):  # as PaliGemma's repositories have it
        made.image_seq_length = (size // patch) ** 2
    return made


@contextlib.contextmanager
def _any_class() -> Iterator[None]:
    """Let a processor take our tokenizer for that of its family."""
    from transformers.processing_utils import ProcessorMixin

    before = vars(ProcessorMixin).get("check_argument_for_proper_class")
    if before is None:
        yield
        return
    ProcessorMixin.check_argument_for_proper_class = lambda self, name, value: type(value)
    try:
        yield
    finally:
        ProcessorMixin.check_argument_for_proper_class = before
