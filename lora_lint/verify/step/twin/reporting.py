"""Packages that only report: in the script they are replaced by ones that accept everything and do nothing, whether they are installed or not."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from types import FrameType, ModuleType
from typing import Any

from .common import Twin, in_library

_REPORTS = {
    "wandb", "mlflow", "comet_ml", "tensorboard", "tensorboardX", "swanlab", "neptune", "clearml", "trackio", "dvclive", "aim", "codecarbon",
    "sacred",
    "weave", "langfuse", "matplotlib", "seaborn", "pynvml", "nvidia_smi", "GPUtil", "evaluate", "rouge_score", "sacrebleu", "nltk", "bert_score",
    "torchinfo", "torchsummary",
}  # fmt: skip
_ALWAYS = {"wandb", "mlflow", "comet_ml", "swanlab", "neptune", "clearml", "trackio", "aim", "weave", "evaluate", "pynvml"}  # also where installed
_WHOLE = {"torch.utils.tensorboard"}


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Silent


class Silent(metaclass=_Meta):
    """Takes every call, attribute and item, and gives itself back."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Silent()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else Silent()  # as a decorator

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def __getitem__(self, key: Any) -> Any:
        return Silent()

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def __str__(self) -> str:
        return ""


class Metrics(dict):  # type: ignore[type-arg]
    """Results of an evaluation that was not made: each is 0."""

    def __missing__(self, key: Any) -> float:
        return 0.0


class _Evaluation(Silent):
    def compute(self, *args: Any, **kwargs: Any) -> Metrics:
        """No result."""
        return Metrics()


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self.__name__ == "evaluate" and name in ("load", "combine"):
            return lambda *args, **kwargs: _Evaluation()
        return Silent


class _Reports(MetaPathFinder, Loader):
    """Finds the silent packages, for imports of the script itself: libraries ask whether the real ones are there."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._given: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """A silent module."""
        top = name.partition(".")[0]
        if name not in _WHOLE and top not in _REPORTS:
            return None
        if top in self._given or (self._asked_by_script() and (name in _WHOLE or top in _ALWAYS or not self._installed(name))):
            if name == top or name in _WHOLE:
                self._given.add(name)
                self._twin.off(f"reporting to {name}")
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def _installed(self, name: str) -> bool:
        finders = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        return any(finder.find_spec(name, None) is not None for finder in finders)

    def _asked_by_script(self) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith("<frozen importlib") and os.sep + "importlib" + os.sep not in name:
                return not in_library(frame)
            frame = frame.f_back
        return False

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """An empty module with every name."""
        module = _Module(spec.name)
        module.__path__ = []
        module.__version__ = "999.0"  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def install(twin: Twin) -> None:
    """Let the script import silent packages."""
    finder = _Reports(twin)
    sys.meta_path.insert(0, finder)
    twin.at_undo(lambda: _remove(finder))


def _remove(finder: _Reports) -> None:
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, _Module):
            del sys.modules[name]
