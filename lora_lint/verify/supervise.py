"""The process between the parent and the child of ``--verify``, on POSIX systems: puts the child under its limits and sees it to its end.

It outlives the parent, so that nothing is left behind even where the parent is killed: it learns of that by the end of its standard input, ends
the child and all that came of it, and removes the scratch folder.

Input, on standard input: one line of JSON (``Order``), then one letter ``T`` asks the child to end; the end of the input ends it.
Output, on the descriptor named in the arguments, lines of JSON: ``{"held": [...], "not": [...], "group": id}`` before the child
starts (the id of its process group, where it has no process tree of its own), ``{"cannot": "why"}`` where it does not start, and at its end
``{"ended": status, "why": "it took ..."}`` (negative: the signal; why we ended it, or nothing).
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn, TypedDict

from lora_lint.verify import confine
from lora_lint.verify.step import kernel

_NOT_POSSIBLE = 97  # status of an attempt whose namespaces the system refuses
_DEVICES = (
    "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /dev/nvidia* /dev/nvidia-caps/* /dev/dri/* /dev/kfd /dev/dxg"
).split()
_MAY_READ_ALL_AND_WRITE = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: root goes on reading what others own


class Order(TypedDict):
    """What to start, where and within which limits; ``kernel`` false does without namespaces, Landlock and seccomp (for tests)."""

    command: list[str]
    environment: dict[str, str]
    root: str
    limits: dict[str, int]
    kernel: bool


class _Report:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, **what: object) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, (json.dumps(what) + "\n").encode())


def main(descriptor: int) -> None:
    """Runs in a process and session of its own; ``descriptor`` is where it reports."""
    os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # ended by its input alone, so that it always cleans up
    line = bytearray()
    while not line.endswith(b"\n"):
        letter = os.read(0, 1)  # unbuffered: the rest belongs to whoever watches
        if not letter:
            return
        line += letter
    order: Order = json.loads(line)
    try:
        _start(order, _Report(descriptor))
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        _wait_for_the_end_of_input()
        confine.remove(order["root"])


def _wait_for_the_end_of_input() -> None:
    while os.read(0, 64):
        pass


def _start(order: Order, report: _Report) -> None:
    """Watch over the child in the first kind of confinement that the system allows."""
    if order["kernel"] and sys.platform == "linux":
        tree = kernel.NEW_PIDS | kernel.NEW_MOUNTS | kernel.NEW_IPC
        for flags in (
            tree | kernel.NEW_NETWORK,
            tree | kernel.NEW_NETWORK | kernel.NEW_USERS,
            kernel.NEW_NETWORK,
            kernel.NEW_NETWORK | kernel.NEW_USERS,
        ):
            if _attempt(order, report, flags):
                return
    _attempt(order, report, 0)


def _attempt(order: Order, report: _Report, flags: int) -> bool:
    """Whether the child ran, or could not run for another reason than the namespaces."""
    if not flags:
        _watch(order, report, flags)
        return True
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = _in_namespaces(order, report, flags)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != _NOT_POSSIBLE


def _in_namespaces(order: Order, report: _Report, flags: int) -> int:
    if not kernel.unshare(flags):
        return _NOT_POSSIBLE
    kernel.end_with_parent(signal.SIGKILL)
    if not kernel.loopback_up():
        return _NOT_POSSIBLE
    if not flags & kernel.NEW_PIDS:
        _watch(order, report, flags)
        return 0
    process = os.fork()  # the first process of the new tree: with it, the kernel ends all others
    if process == 0:
        status = 1
        try:
            kernel.end_with_parent(signal.SIGKILL)
            if not kernel.own_mounts():
                os._exit(_NOT_POSSIBLE)
            read_only = kernel.read_only_but(order["root"])
            if not kernel.private_mounts(order["limits"]["memory"] // 4):
                os._exit(_NOT_POSSIBLE)
            _watch(order, report, flags, read_only)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _watch(order: Order, report: _Report, flags: int, read_only: bool = False) -> None:
    """Start the child, pass on the wish that it ends, end it where it takes too much, and say how it ended."""
    whole_tree = bool(flags & kernel.NEW_PIDS)
    if not whole_tree:
        kernel.adopt_orphans()
    wake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become_the_child(order, report, flags, read_only)
    why, status, limits, look = "", None, order["limits"], 0.0
    listening = [0, wake]
    while status is None:
        ready, _, _ = select.select(listening, [], [], 0.25)
        if wake in ready:
            os.read(wake, 512)
        if 0 in ready:
            letter = os.read(0, 1)
            _signal_group(child, signal.SIGTERM if letter else signal.SIGKILL)
            if not letter:
                listening = [wake]
        if time.monotonic() - look > 1 and not why:
            look = time.monotonic()
            why = _too_much(child, order["root"], limits)
            if why:
                _signal_group(child, signal.SIGKILL)
        status = _reap(child)
    report(ended=status, why=why)
    if not whole_tree:
        _end_descendants(child)


def _reap(child: int) -> int | None:
    """Take in all that ended; the child's exit code if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                break
            if process == child:
                found = os.waitstatus_to_exitcode(status)
    return found


def _signal_group(child: int, number: int) -> None:
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(child, number)


def _end_descendants(child: int) -> None:
    """Without a process tree of its own: end the group, then adopted orphans as long as more turn up."""
    _signal_group(child, signal.SIGKILL)
    own = os.getpid()
    for _ in range(1000):
        orphans = []
        for name in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError, IndexError), open(name, encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == own:
                    orphans.append(int(name.split("/")[2]))
        if not orphans:
            return
        for process in orphans:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        for process in orphans:
            with contextlib.suppress(OSError):
                os.waitpid(process, 0)


def _too_much(child: int, root: str, limits: dict[str, int]) -> str:
    """What the other limits do not see: shared memory, and many files that each are small enough."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{child}/statm", encoding="ascii") as file:
        if int(file.read().split()[1]) * resource.getpagesize() > limits["memory"]:
            return f"it took more than {limits['memory'] / 2**30:g} GB of memory"
    total = 0
    folders = [root]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
    return f"it wrote more than {limits['disk'] / 2**30:g} GB" if total > limits["disk"] else ""


def _become_the_child(order: Order, report: _Report, flags: int, read_only: bool) -> NoReturn:
    """In the forked process: take the limits upon itself, then execute the command."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(os.path.join(order["root"], "work"))
        os.umask(0o077)
        held, missing = _limit(order, flags, read_only)
        report(**{"held": held, "not": missing, "group": 0 if flags & kernel.NEW_PIDS else os.getpid()})
        os.execve(order["command"][0], order["command"], order["environment"])
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
        report(cannot=f"{order['command'][0]}: {reason}")
    finally:
        os._exit(127)


def _limit(order: Order, flags: int, read_only: bool) -> tuple[list[str], list[str]]:
    """All limits that hold from the first instruction; those on processes come after the imports, in ``step.lock``."""
    held: list[str] = []
    missing: list[str] = []

    def note(holds: Any, what: str, otherwise: str) -> None:
        (held if holds else missing).append(what if holds else otherwise)

    limits = order["limits"]
    note(flags & kernel.NEW_PIDS, "own process tree (PID namespace)", "no process tree of its own: what changes its session is looked for and ended")
    network = bool(flags & kernel.NEW_NETWORK)
    linux = order["kernel"] and sys.platform == "linux"
    files = [path for pattern in _DEVICES for path in glob.glob(pattern)]
    version = kernel.confine_writes([order["root"], "/dev/shm"], [*files, "/proc/self"], tcp=network) if linux else 0
    by = [*(["read-only file systems"] if read_only else []), *([f"Landlock {version}"] if version else [])]
    note(by, f"writes in its own folder alone ({', '.join(by)})", "writes outside refused to Python code alone: no Landlock, no mount namespace")
    filtered = not network and linux and kernel.refuse_calls(processes=False, internet=True, local_sockets=False)
    note(
        network or filtered,
        "no network (network namespace)" if network else "no network (seccomp)",
        "network refused to Python code alone: no network namespace, no seccomp",
    )
    if linux:
        kernel.no_new_rights()
        if os.geteuid() == 0 and not flags & kernel.NEW_USERS:
            kernel.drop_rights(_MAY_READ_ALL_AND_WRITE)
    kernel.end_with_parent(signal.SIGKILL)
    note(_lower(resource.RLIMIT_DATA, limits["memory"]), f"memory {limits['memory'] / 2**30:g} GB", "memory not limited")
    note(_lower(resource.RLIMIT_FSIZE, limits["file"]), f"files of {limits['file'] / 2**30:g} GB", "size of files not limited")
    note(_lower(resource.RLIMIT_CPU, limits["cpu"]), f"{limits['cpu']} s of processor time", "processor time not limited")
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, limits["open_files"])
    # Counted over all that the user runs, unless the user is one of a namespace; and root is never held by it.
    counted_alone = bool(flags & kernel.NEW_USERS) and os.geteuid() != 0
    if counted_alone and _lower(resource.RLIMIT_NPROC, limits["processes"]):
        held.append(f"{limits['processes']} processes and threads")
    return held, missing


def _lower(which: int, value: int) -> bool:
    """Set a soft and hard limit, never above the one in force."""
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        return False
    return True
