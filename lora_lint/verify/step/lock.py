"""The lock that closes behind the imports: from then on the script's Python code writes, connects and starts nothing outside.

An audit hook, which cannot be taken off, refuses what Python code asks for; on Linux the kernel also refuses new processes to code of any language.
Reading is free, but for the files that hold the user's keys and tokens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from . import kernel

_Handler = Callable[[tuple[Any, ...]], None]

# Harmless to write to, and not files: devices, shared memory, this process's own entries. Elsewhere the kernel decides.
_FREE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_FREE_BELOW = ("/dev/shm/", "/dev/nvidia", "/proc/self/", "/dev/fd/", "/dev/dri/")
_LOCAL = ("localhost", "127.0.0.1", "::1", "", None, b"localhost", b"127.0.0.1")
_C_LIBRARIES = ("libc.", "libc-", "libdl.", "libdl-", "libpthread", "libsystem", "msvcrt", "ucrtbase", "kernel32", "ntdll", "shell32", "advapi32")
_C_FUNCTIONS = frozenset(
    "system popen fork vfork clone execv execve execvp execl execlp execle posix_spawn posix_spawnp kill killpg unlink unlinkat remove rename "
    "renameat rmdir truncate chmod chown open openat creat fopen socket connect syscall mount ptrace".split()
)

#: What was refused so far, one line each, the first 50.
refusals: list[str] = []


class RefusedError(PermissionError):
    """The script asked for something that ``--verify`` does not do; the text says what."""


def _refuse(text: str) -> None:
    if len(refusals) < 50:
        refusals.append(text)
    raise RefusedError(f"{text}: not done under --verify")


def lock(root: str, secrets: Iterable[str] = ()) -> list[str]:
    """Close the lock. ``root`` is the only folder that is written to, ``secrets`` are files and folders that are not read.

    To be called once, after the libraries are imported (they start processes and open libraries on their way). Cannot be undone. Returns
    what holds now, in words.
    """
    in_kernel = kernel.refuse_calls(processes=True, internet=False, local_sockets=True)
    _install(_Rules(os.path.realpath(root), [os.path.realpath(path) for path in secrets]).handlers())
    return ["no new processes after the imports (seccomp)" if in_kernel else "new processes refused to Python code alone"]


def _install(handlers: dict[str, _Handler]) -> None:
    find = handlers.get

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        handler = find(event)
        if handler is not None:
            handler(arguments)

    sys.addaudithook(hook)
    try:
        import _posixsubprocess
    except ImportError:
        return

    # multiprocessing starts processes by it, without an event
    def fork_exec(*_: object) -> None:
        _refuse("starting a process")

    _posixsubprocess.fork_exec = fork_exec  # type: ignore[assignment]


class _Rules:
    def __init__(self, root: str, secrets: list[str]) -> None:
        self._root = root
        self._below = root + os.sep
        self._kept = (root, os.path.join(root, "out"), os.path.join(root, "work"))
        self._secrets = secrets
        self._own = os.getpid()
        self._free = (self._below, *_FREE_BELOW, f"/proc/{self._own}/")
        self._realpath, self._fsdecode = os.path.realpath, os.fsdecode  # as they are now: the script may replace them
        self._writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def handlers(self) -> dict[str, _Handler]:
        change, drop = self._changes, self._drops
        process = self._process
        return {
            "open": self._open,
            "os.mkdir": change("making a folder", 0, 2),
            "os.truncate": change("shortening a file", 0),
            "os.chmod": change("changing the mode of", 0, 2),
            "os.chown": change("changing the owner of", 0, 3),
            "os.chflags": change("changing the flags of", 0),
            "os.utime": change("changing the time of", 0, 3),
            "os.setxattr": change("changing an attribute of", 0),
            "os.removexattr": change("changing an attribute of", 0),
            "os.remove": drop("deleting", 0, 1),
            "os.rmdir": drop("deleting", 0, 1),
            "os.rename": self._both(drop("moving", 0, 2), change("moving to", 1, 3)),
            "os.link": self._both(change("linking to", 0, 2), change("linking from", 1, 3)),
            "os.symlink": change("linking from", 1, 2),
            "sqlite3.connect": self._sqlite,
            "socket.connect": self._connect,
            "socket.sendto": self._connect,
            "socket.sendmsg": self._connect,
            "socket.getaddrinfo": self._look_up,
            "socket.gethostbyname": self._look_up,
            "urllib.Request": lambda a: _refuse(f"opening {str(a[0])[:100]}"),
            "http.client.connect": lambda a: _refuse(f"connecting to {a[1]}"),
            "subprocess.Popen": lambda a: process(a[0]),
            "os.system": lambda a: process(a[0]),
            "os.exec": lambda a: process(a[0]),
            "os.posix_spawn": lambda a: process(a[0]),
            "os.spawn": lambda a: process(a[1]),
            "os.startfile": lambda a: process(a[0]),
            "_winapi.CreateProcess": lambda a: process(a[0] or a[1]),
            "_winapi.TerminateProcess": lambda a: _refuse("ending a process"),
            "os.fork": lambda a: _refuse("forking"),
            "os.forkpty": lambda a: _refuse("forking"),
            "pty.spawn": lambda a: process(a[0]),
            "webbrowser.open": lambda a: _refuse("opening a browser"),
            "os.kill": self._kill,
            "os.killpg": lambda a: _refuse("signalling other processes"),
            "ctypes.dlopen": self._dlopen,
            "ctypes.dlsym": self._dlsym,
        }

    def _path(self, path: str | bytes | int | os.PathLike[str] | None, folder: Any = -1) -> str | None:
        """The real, absolute path; ``None`` for an open descriptor. ``folder`` is the descriptor that ``path`` is relative to."""
        if path is None or isinstance(path, int):
            return None
        text = self._fsdecode(path)
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            text = os.path.join(self._realpath(f"/proc/self/fd/{folder}"), text)
        return self._realpath(text)

    def _inside(self, path: str | None) -> bool:
        return path is None or path.startswith(self._free) or path == self._root or path in _FREE

    def _open(self, arguments: tuple[Any, ...]) -> None:
        path, mode, flags = arguments
        if isinstance(path, int):
            return
        writes = bool((flags or 0) & self._writing) or (isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode))
        real = self._path(path)
        if writes:
            if not self._inside(real):
                _refuse(f"writing {real}")
        elif real is not None:
            for secret in self._secrets:
                if real == secret or real.startswith(secret + os.sep):
                    _refuse(f"reading {real}")

    def _changes(self, what: str, index: int, folder: int | None = None) -> _Handler:
        def check(arguments: tuple[Any, ...]) -> None:
            real = self._path(arguments[index], _at(arguments, folder))
            if not self._inside(real):
                _refuse(f"{what} {real}")

        return check

    def _drops(self, what: str, index: int, folder: int) -> _Handler:
        """As ``_changes``; of a link the link itself counts, and what the parent reads stays."""

        def check(arguments: tuple[Any, ...]) -> None:
            given = self._path_of_link(arguments[index], _at(arguments, folder))
            if not self._inside(given) or given in self._kept:
                _refuse(f"{what} {given}")

        return check

    def _path_of_link(self, path: str | bytes | int | os.PathLike[str] | None, folder: Any) -> str | None:
        if path is None or isinstance(path, int):
            return None
        text = self._fsdecode(path).rstrip(os.sep)
        parent = self._path(os.path.dirname(text) or os.curdir, folder)
        return os.path.join(parent or "", os.path.basename(text))

    def _both(self, first: _Handler, second: _Handler) -> _Handler:
        def check(arguments: tuple[Any, ...]) -> None:
            first(arguments)
            second(arguments)

        return check

    def _sqlite(self, arguments: tuple[Any, ...]) -> None:
        name = self._fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes, os.PathLike)) else ""
        if name in ("", ":memory:") or name.startswith("file:") or self._inside(self._path(name)):
            return
        if os.path.exists(name):  # opened for reading it does not change; a write fails in the kernel, where that holds
            return
        _refuse(f"making {name}")

    def _connect(self, arguments: tuple[Any, ...]) -> None:
        address = arguments[1] if len(arguments) > 1 else None
        if isinstance(address, (str, bytes)) and self._inside(self._path(address)):
            return
        _refuse(f"connecting to {address!r}")

    def _look_up(self, arguments: tuple[Any, ...]) -> None:
        if arguments[0] not in _LOCAL:
            _refuse(f"looking up {arguments[0]!r} in the network")

    def _process(self, command: object) -> None:
        text = self._fsdecode(command) if isinstance(command, (str, bytes, os.PathLike)) else str(command)
        _refuse(f"starting {text[:100]}")

    def _kill(self, arguments: tuple[Any, ...]) -> None:
        if arguments[0] != self._own:
            _refuse(f"signalling process {arguments[0]}")

    def _dlopen(self, arguments: tuple[Any, ...]) -> None:
        name = arguments[0]
        if name is None:
            _refuse("opening the C library")
        text = self._fsdecode(name)
        if os.path.basename(text).lower().startswith(_C_LIBRARIES):
            _refuse(f"opening {text}")
        if os.path.isabs(text) and str(self._path(text)).startswith(self._below):
            _refuse(f"loading code written at run time: {text}")

    def _dlsym(self, arguments: tuple[Any, ...]) -> None:
        if arguments[1] in _C_FUNCTIONS:
            _refuse(f"calling {arguments[1]} of the C library")


def _at(arguments: tuple[Any, ...], index: int | None) -> Any:
    return arguments[index] if index is not None and index < len(arguments) else -1
