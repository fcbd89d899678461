"""Checks many files in several processes.

Files go to the processes in stretches, since neighbours share modules of their project, and the results come back in the order of the files. When a
process dies, the files that it had are checked one by one, each in a process of its own, so that the one at fault gets the blame and no other
suffers.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from lora_lint.config import Settings
from lora_lint.engine import FileResult, Projects, check_recorded
from lora_lint.source import ReadError

# Below this much text one process is done before a second one has begun; measured with tests/bench.
BYTES = 400_000
STRETCH = 200_000  # bytes
LONGEST = 32  # files


@dataclass(frozen=True)
class Task:
    """A file to check: its place, the name to show, which of the settings hold, and its size."""

    path: Path
    display: str
    settings: int
    size: int


Checked = tuple[FileResult, set[str]]


def default_jobs() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pays(tasks: Sequence[Task], jobs: int) -> bool:
    """Whether more than one process is worth its start."""
    return jobs > 1 and len(tasks) > 1 and sum(task.size for task in tasks) >= BYTES


def check_all(tasks: Sequence[Task], settings: Sequence[Settings], jobs: int, step: Callable[[str], None]) -> Iterator[Checked]:
    """The results of all tasks, in order. ``step`` gets the name of each file that is done."""
    if not pays(tasks, jobs):
        projects = Projects()
        for task in tasks:
            step(task.display)
            yield check_recorded(task.path, task.display, settings[task.settings], projects)
        return
    stretches = list(_stretches(tasks))
    done: dict[int, list[Checked]] = {}
    following = 0
    executor = _executor(min(jobs, len(stretches)), settings)
    waiting: dict[Future[list[Checked]], int] = {}
    try:
        waiting = {executor.submit(_check, stretch): number for number, stretch in enumerate(stretches)}
        while waiting:
            ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
            lost: list[int] = []
            for future in ready:
                number = waiting.pop(future)
                try:
                    done[number] = future.result()
                except BrokenProcessPool:
                    lost.append(number)
            if lost:  # the pool is gone as a whole
                lost = sorted({*lost, *waiting.values()})
                waiting = {}
                executor.shutdown(wait=False, cancel_futures=True)
                # Only the stretches that had begun can hold the file at fault; which they are nobody tells.
                for number in lost:
                    done[number] = _one_by_one(stretches[number], settings)
            while following in done:
                for task, checked in zip(stretches[following], done.pop(following), strict=True):
                    step(task.display)
                    yield checked
                following += 1
    except BaseException:
        _stop(executor)
        raise
    executor.shutdown(wait=True)


def _stretches(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """The tasks in their order, cut where a stretch is long enough."""
    stretch: list[Task] = []
    size = 0
    for task in tasks:
        if stretch and (size + task.size > STRETCH or len(stretch) >= LONGEST):
            yield stretch
            stretch, size = [], 0
        stretch.append(task)
        size += task.size
    if stretch:
        yield stretch


def _one_by_one(stretch: list[Task], settings: Sequence[Settings]) -> list[Checked]:
    """The results of a stretch that may hold a file at which a process dies."""
    try:
        with _executor(1, settings) as executor:
            return executor.submit(_check, stretch).result()
    except BrokenProcessPool:
        if len(stretch) == 1:
            task = stretch[0]
            error = ReadError("the process that checked it died; please report it")
            return [(FileResult(task.display, None, error=error), set())]
    middle = len(stretch) // 2
    return _one_by_one(stretch[:middle], settings) + _one_by_one(stretch[middle:], settings)


def _stop(executor: ProcessPoolExecutor) -> None:
    """End the processes at once."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _executor(jobs: int, settings: Sequence[Settings]) -> ProcessPoolExecutor:
    # Where a process can be copied it starts with all modules; the parent has no threads that could hold a lock.
    method = "fork" if sys.platform == "linux" else None
    if method is not None:
        importlib.import_module("lora_lint.recipe.interpreter")
        for info in importlib.import_module("lora_lint.rules").REGISTRY.values():
            importlib.import_module(f"lora_lint.rules.{info.module}")
    return ProcessPoolExecutor(jobs, multiprocessing.get_context(method), _begin, (list(settings),))


_settings: list[Settings] = []
_projects = Projects()


def _begin(settings: list[Settings]) -> None:
    """What a process does first."""
    global _projects
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    _settings[:] = settings
    _projects = Projects()


def _check(stretch: list[Task]) -> list[Checked]:
    return [check_recorded(task.path, task.display, _settings[task.settings], _projects) for task in stretch]
