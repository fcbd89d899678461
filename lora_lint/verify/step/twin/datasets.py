"""Data: files on disk are read, their first rows; data sets of the hub become synthetic rows, which get the columns that the script asks them for."""

from __future__ import annotations

import csv
import glob
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from . import rows
from .common import Twin, in_library

_BUILDERS = {"json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "tsv": "csv", "txt": "text", "parquet": "parquet", "arrow": "arrow"}
_PACKAGED = {*_BUILDERS.values(), "pandas", "imagefolder", "audiofolder", "webdataset", "generator", "sql", "xml"}
_SMALL = 16 << 20  # bytes of a file that is read as a whole
_ORIGIN = ("token", "use_auth_token", "revision", "cache_dir", "download_mode", "verification_mode", "ignore_verifications", "trust_remote_code")


@dataclass
class _Origin:
    """Where rows come from: under which text in their description, whether columns may be added, and which there ever were."""

    synthetic: bool
    true: bool = False  # whether its columns are those of the real data
    ever: set[str] = field(default_factory=set)


class _Data:
    """The patches of the datasets library."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._origins: dict[str, _Origin] = {}
        self._copies = 0
        self._load: Any = None

    # Making

    def synthetic(self, name: str, config: str | None, splits: Any, streaming: bool, wanted: list[str] | None = None) -> Any:
        """A data set, or one for each split, of rows that fit the script."""
        twin = self._twin
        names, columns, true = rows.shape(twin, name, config, twin.record.line())
        dataset = self._dataset(columns, name, true)
        shown = ", ".join(dataset.column_names[:12])
        kind = "" if true else "guessed "
        twin.replaced("dataset", f"{name}/{config}" if config else name, f"{len(dataset)} rows of synthetic {kind}columns: {shown}")
        if isinstance(splits, (list, tuple)):
            return [self._streamed(dataset, streaming) for _ in splits]
        if splits is not None:
            return self._streamed(dataset, streaming)
        import datasets

        cls = datasets.IterableDatasetDict if streaming else datasets.DatasetDict
        first, *others = wanted or names
        # Each split has data of its own, as columns are added to each.
        splits = {first: dataset, **{split: self._copy(dataset) for split in others}}
        return cls({split: self._streamed(each, streaming) for split, each in splits.items()})

    def _dataset(self, columns: list[str], name: str, true: bool) -> Any:
        import datasets

        with self._twin.working():
            dataset = datasets.Dataset.from_dict(rows.table(self._twin, columns, self._twin.rows))
            for column in columns:
                label, kind = rows.split_column(column)
                if kind.startswith("class") and not isinstance(dataset[label][0], list):
                    dataset = dataset.cast_column(label, datasets.ClassLabel(names=kind.split("-")[1:]))
            self._mark(dataset, f"synthetic rows in place of {name} ({len(self._origins)})", True, true)
        return dataset

    def _mark(self, dataset: Any, text: str, synthetic: bool, true: bool = False) -> None:
        dataset.info.description = text
        self._origins[text] = _Origin(synthetic, true, set(dataset.column_names))

    def _copy(self, dataset: Any) -> Any:
        with self._twin.working():
            return dataset.select(range(len(dataset)))

    def _streamed(self, dataset: Any, streaming: bool) -> Any:
        return dataset.to_iterable_dataset() if streaming else dataset

    # Loading

    def load_dataset(self, original: Any) -> Callable[..., Any]:
        """``datasets.load_dataset``."""
        self._load = original

        def load_dataset(path: Any, name: Any = None, data_dir: Any = None, data_files: Any = None, split: Any = None, **kwargs: Any) -> Any:
            kwargs.pop("num_proc", None)
            for key in _ORIGIN:
                kwargs.pop(key, None)
            streaming = bool(kwargs.get("streaming"))
            text = os.fsdecode(path)
            files = self._files(text, data_dir, data_files)
            if files:
                return self._real(text, files, split, name, kwargs)
            local = self._twin.paths.found(text)
            wanted = [str(key) for key in data_files] if isinstance(data_files, dict) else ["train"] if data_files or text in _PACKAGED else None
            if local is not None and os.path.isdir(local) and not any(file.endswith(".py") for file in os.listdir(local)):
                return self._real_folder(local, name, split, kwargs)
            label = text if text not in _PACKAGED or data_files is None else _first(data_files)
            if data_files is not None or text in _PACKAGED or os.path.isabs(text):
                self._twin.off(f"reading {label}: there is no such file here, so its columns are guessed")
            return self.synthetic(label, str(name) if name is not None else None, split, streaming, wanted)

        return load_dataset

    def _files(self, path: str, folder: Any, files: Any) -> dict[str, list[str]]:
        """The files on disk that a call is about, by split; nothing where one is missing."""
        if files is None:
            found = self._twin.paths.found(path)
            extension = path.rpartition(".")[2]
            return {"train": [found]} if found and os.path.isfile(found) and extension in _BUILDERS else {}
        base = folder if folder is not None else path if path not in _PACKAGED and self._twin.paths.found(path) else None
        result: dict[str, list[str]] = {}
        for split, names in (files if isinstance(files, dict) else {"train": files}).items():
            for name in [names] if isinstance(names, (str, os.PathLike)) else names:
                text = os.fsdecode(name)
                text = os.path.join(base, text) if base is not None and not os.path.isabs(text) else text
                found = self._twin.paths.found(text)
                matches = [found] if found else sorted(itertools.chain(*(glob.glob(place) for place in self._places(text))))[:8]
                if not matches:
                    return {}
                result.setdefault(str(split), []).extend(matches)
        return result

    def _places(self, pattern: str) -> list[str]:
        return [pattern] if os.path.isabs(pattern) else [pattern, *(os.path.join(folder, pattern) for folder in self._twin.paths.folders)]

    def _real(self, path: str, files: dict[str, list[str]], split: Any, name: Any, kwargs: dict[str, Any]) -> Any:
        """Read the first rows of files by the real library."""
        builder = path if path in _PACKAGED else _BUILDERS.get(next(iter(files.values()))[0].rpartition(".")[2], "json")
        shorter = {key: [self._shortened(file) for file in names] for key, names in files.items()}
        if isinstance(split, str):
            split = re.sub(r"\[[^\]]*\d+\]", lambda cut: cut[0] if "%" in cut[0] else "", split)  # of rows that were left out
        result = self._load(builder, name, data_files=shorter, split=split, **kwargs)
        first = next(iter(files.values()))[0]
        for dataset in result.values() if isinstance(result, dict) else [result]:
            if hasattr(dataset, "column_names") and dataset.column_names:
                self._mark(dataset, f"first rows of {first} ({len(self._origins)})", False)
        self._twin.replaced("dataset", first, f"its first {self._twin.rows} rows")
        return result

    def _real_folder(self, folder: str, name: Any, split: Any, kwargs: dict[str, Any]) -> Any:
        self._copies += 1
        copy = os.path.join(self._twin.root, "data", f"{self._copies}-{os.path.basename(folder)}")
        for place, _, names in os.walk(folder):
            for file in names[:50]:
                if file.rpartition(".")[2] in _BUILDERS:
                    target = os.path.join(copy, os.path.relpath(place, folder), file)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copy(self._shortened(os.path.join(place, file)), target)
        if not os.path.isdir(copy):
            copy = folder
        self._twin.replaced("dataset", folder, f"the first {self._twin.rows} rows of its files")
        return self._load(copy, name, split=split, **kwargs)

    def _shortened(self, file: str) -> str:
        """A copy of a file with its first rows; the file itself where it cannot be cut."""
        self._copies += 1
        target = os.path.join(self._twin.root, "data", str(self._copies), os.path.basename(file))
        os.makedirs(os.path.dirname(target))
        shorten(file, target, self._twin.rows)
        return target

    def load_from_disk(self, original: Any) -> Callable[..., Any]:
        """``datasets.load_from_disk`` and the methods of that name."""

        def load_from_disk(dataset_path: Any, *args: Any, **kwargs: Any) -> Any:
            found = self._twin.paths.found(dataset_path)
            if found is None:
                split = None if self._twin.mentions(r"""\[\s*["']train["']\s*\]""") else "train"
                return self.synthetic(os.fsdecode(dataset_path), None, split, False)
            result = original(found, *args, **kwargs)
            if self._twin.paths.inside(found):
                return result
            self._twin.replaced("dataset", dataset_path, f"its first {self._twin.rows} rows")
            if isinstance(result, dict):
                return type(result)({split: self._first_rows(part, found) for split, part in result.items()})
            return self._first_rows(result, found)

        return load_from_disk

    def _first_rows(self, dataset: Any, name: str) -> Any:
        with self._twin.working():
            short = dataset.select(range(min(len(dataset), self._twin.rows)))
        self._mark(short, f"first rows of {name} ({len(self._origins)})", False)
        return short

    def from_file(self, original: Any) -> Callable[..., Any]:
        """``Dataset.from_json`` and its like."""

        def from_file(path_or_paths: Any, *args: Any, **kwargs: Any) -> Any:
            if self._twin.busy:
                return original(path_or_paths, *args, **kwargs)
            kwargs.pop("num_proc", None)
            several = isinstance(path_or_paths, (list, tuple))
            names = list(path_or_paths) if several else [path_or_paths]
            found = [self._twin.paths.found(name) for name in names]
            if not all(found):
                return self.synthetic(os.fsdecode(names[0]), None, kwargs.get("split") or "train", False)
            self._twin.replaced("dataset", names[0], f"its first {self._twin.rows} rows")
            short = [self._shortened(str(file)) for file in found]
            return original(short if several else short[0], *args, **kwargs)

        return from_file

    # Using

    def _origin(self, dataset: Any) -> _Origin | None:
        return self._origins.get(getattr(getattr(dataset, "info", None), "description", None) or "")

    def _extend(self, dataset: Any, column: Any, for_library: bool = False) -> bool:
        """Give synthetic rows one more column, where they never had it; whether that was done."""
        origin = self._origin(dataset)
        if origin is None or not origin.synthetic or not isinstance(column, str) or column in origin.ever or column in dataset.column_names:
            return False
        if origin.true and for_library:  # it would miss it in reality as well
            return False
        if column in ("input_ids", "attention_mask", "labels", "token_type_ids", "length"):  # the script was to make them
            return False
        kind = rows.kind_of(column)
        with self._twin.working():
            longer = dataset.add_column(column, [rows.value(self._twin, column, kind, row) for row in range(len(dataset))])
        for part in ("_data", "_info", "_indices", "_fingerprint"):
            setattr(dataset, part, getattr(longer, part))
        origin.ever.add(column)
        self._twin.replaced("dataset", f"column {column}", f"synthetic {kind.partition('-')[0]}, asked for by the script")
        return True

    def rerun(self, original: Any) -> Callable[..., Any]:
        """``map`` and ``filter``: a column that the function misses is made, and the function runs again."""

        def run(dataset: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("num_proc"):
                kwargs["num_proc"] = None
                self._twin.off("several processes for data")
            kwargs.pop("desc", None)
            before = set(dataset.column_names)
            for _ in range(30):
                try:
                    result = original(dataset, *args, **kwargs)
                    break
                except KeyError as error:
                    asker = _asker(error)
                    if asker is None or not self._extend(dataset, error.args[0] if error.args else None, in_library(asker)):
                        raise
                    gone = kwargs.get("remove_columns")
                    if gone and before <= set([gone] if isinstance(gone, str) else gone):
                        kwargs["remove_columns"] = list(dataset.column_names)
            else:
                result = original(dataset, *args, **kwargs)
            origin = self._origin(dataset)
            if origin is not None:
                origin.ever |= set(result.column_names)
                if not len(result) and len(dataset) and original.__name__ == "filter":
                    self._twin.off("a filter that keeps no synthetic row")
                    return self._copy(dataset)
            return result

        return run

    def get(self, original: Any) -> Callable[..., Any]:
        """``dataset[key]``."""

        def __getitem__(dataset: Any, key: Any) -> Any:  # noqa: N807
            if isinstance(key, str) and key not in dataset.column_names:
                self._extend(dataset, key, not self._twin.by_user())
            found = original(dataset, key)
            if type(key) is int and type(found) is dict and self._twin.by_user() and self._open(dataset):
                return rows.open_row(self._twin, found, key)
            return found

        return __getitem__

    def _open(self, dataset: Any) -> bool:
        origin = self._origin(dataset)
        return origin is not None and origin.synthetic

    def each(self, original: Any) -> Callable[..., Any]:
        """Iteration of rows."""

        def __iter__(dataset: Any) -> Iterator[Any]:  # noqa: N807
            found = original(dataset)
            if self._twin.by_user() and self._open(dataset):
                return (rows.open_row(self._twin, row, number) if type(row) is dict else row for number, row in enumerate(found))
            return iter(found)

        return __iter__

    def streamed(self, original: Any) -> Callable[..., Any]:
        """``map`` and ``filter`` of streamed rows."""

        def run(dataset: Any, function: Any = None, *args: Any, **kwargs: Any) -> Any:
            if callable(function) and self._open(dataset) and not kwargs.get("input_columns"):
                inner = function

                def function(example: Any, *more: Any, **others: Any) -> Any:
                    if type(example) is dict and not kwargs.get("batched"):
                        example = rows.open_row(self._twin, example, 0)
                    return inner(example, *more, **others)

            return original(dataset, function, *args, **kwargs)

        return run

    def select(self, original: Any) -> Callable[..., Any]:
        """``select`` of more rows than there are."""

        def select(dataset: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._twin.busy and self._origin(dataset) is not None:
                size = len(dataset)
                chosen = [index for index in indices if index < size]
                if len(chosen) < len(indices):
                    self._twin.off(f"rows behind the first {size}")
                    indices = chosen or range(size)
            return original(dataset, indices, *args, **kwargs)

        return select

    def split(self, original: Any) -> Callable[..., Any]:
        """``train_test_split`` for more rows than there are."""

        def train_test_split(dataset: Any, test_size: Any = None, train_size: Any = None, *args: Any, **kwargs: Any) -> Any:
            size = len(dataset)
            if self._origin(dataset) is not None and sum(part for part in (test_size, train_size) if isinstance(part, int)) >= size > 3:
                self._twin.off(f"rows behind the first {size}")
                test_size, train_size = size // 4, None
            return original(dataset, test_size, train_size, *args, **kwargs)

        return train_test_split

    # Patching

    def patch_functions(self, module: ModuleType) -> None:
        """The functions that load, wherever they were imported to."""
        for name, make in (("load_dataset", self.load_dataset), ("load_from_disk", self.load_from_disk)):
            original = vars(module).get(name)
            if original is None:
                continue
            self._twin.wrap(module, name, make)
            for other in ("datasets", "datasets.load", "trl.scripts.utils", "trl.scripts.sft"):
                place = sys.modules.get(other)
                if place is not None and place is not module and vars(place).get(name) is original:
                    self._twin.patches.set(place, name, getattr(module, name))

    def patch_dataset(self, module: ModuleType) -> None:
        """``Dataset``."""
        wrap, cls = self._twin.wrap, module.Dataset
        for name, make in (
            ("map", self.rerun), ("filter", self.rerun), ("__getitem__", self.get), ("__iter__", self.each), ("select", self.select),
            ("train_test_split", self.split), ("from_json", self.from_file), ("from_csv", self.from_file), ("from_parquet", self.from_file),
            ("from_text", self.from_file), ("load_from_disk", self.load_from_disk),
        ):  # fmt: skip
            if name in vars(cls):
                wrap(cls, name, make)
        for owner in (cls, getattr(sys.modules.get("datasets.dataset_dict"), "DatasetDict", None)):
            if owner is not None and "push_to_hub" in vars(owner):
                wrap(owner, "push_to_hub", lambda original: self._nothing("pushing to the hub"))

    def patch_stream(self, module: ModuleType) -> None:
        """``IterableDataset``."""
        for name, make in (("map", self.streamed), ("filter", self.streamed), ("__iter__", self.each)):
            self._twin.wrap(module.IterableDataset, name, make)

    def _nothing(self, what: str) -> Callable[..., None]:
        def do(*args: Any, **kwargs: Any) -> None:
            self._twin.off(what)

        return do


def install(twin: Twin) -> None:
    """Patch the datasets library where it is imported."""
    data = _Data(twin)
    twin.when("datasets.arrow_dataset", data.patch_dataset)
    twin.when("datasets.iterable_dataset", data.patch_stream)
    twin.when("datasets.load", data.patch_functions)
    twin.when("datasets", lambda module: module.disable_progress_bars() if hasattr(module, "disable_progress_bars") else None)


def shorten(file: str, target: str, count: int) -> None:
    """Copy the first ``count`` rows of a file; a file of a kind that cannot be cut is copied as it is."""
    extension = file.rpartition(".")[2].lower()
    if extension == "parquet":
        import pyarrow
        import pyarrow.parquet

        batch = next(pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=count), None)
        if batch is not None:
            pyarrow.parquet.write_table(pyarrow.Table.from_batches([batch]), target)
            return
    elif extension in ("csv", "tsv"):
        with open(file, encoding="utf-8", errors="replace", newline="") as stream:
            reader = csv.reader(stream)
            for _ in range(count + 1):
                next(reader, None)
            lines = reader.line_num
            stream.seek(0)
            text = "".join(itertools.islice(stream, lines))
        _write(target, text)
        return
    elif extension in ("jsonl", "ndjson", "txt", "json"):
        with open(file, encoding="utf-8", errors="replace") as stream:
            start = stream.read(_SMALL)
        text = start.lstrip("\ufeff \t\r\n")
        if extension != "json" or (text.startswith("{") and _is_json(text.partition("\n")[0])):
            _write(target, "".join(start.splitlines(keepends=True)[:count]))
            return
        if text.startswith("["):
            _write(target, json.dumps(list(itertools.islice(_items(text), count))))
            return
        if len(start) < _SMALL and _is_json(start):
            whole = json.loads(start)
            _write(target, json.dumps({key: part[:count] if isinstance(part, list) else part for key, part in whole.items()}))
            return
    shutil.copy(file, target)


def _items(text: str) -> Iterator[Any]:
    """The elements of a JSON array, as far as the text goes."""
    decoder, place = json.JSONDecoder(), 1
    while True:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        try:
            item, place = decoder.raw_decode(text, place)
        except ValueError:
            return
        yield item


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def _first(files: Any) -> str:
    while not isinstance(files, (str, os.PathLike)):
        files = next(iter(files.values() if isinstance(files, dict) else files), "")
    return os.fsdecode(files)


def _asker(error: KeyError) -> FrameType | None:
    """The function that asked a row for a column it lacks; ``None`` where the error is another."""
    rows_of = ("datasets/formatting/formatting.py", "datasets/arrow_dataset.py", "/collections/__init__.py")
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    of_rows = [frame.f_code.co_filename.replace(os.sep, "/").endswith(rows_of) for frame in frames]
    if not of_rows or not of_rows[-1]:
        return None
    return next((frame for frame, of_row in zip(reversed(frames), reversed(of_rows)) if not of_row), None)
