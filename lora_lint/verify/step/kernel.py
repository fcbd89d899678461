"""What the Linux kernel can be told to refuse a process: a thin layer of system calls, made through ctypes.

Nothing here raises where the kernel, the architecture or the rights do not allow it: each function says whether it holds. On other systems
nothing holds. Sources: landlock(7), seccomp(2), prctl(2), unshare(2) and the tables of system call numbers of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterable
from typing import Any

NEW_MOUNTS, NEW_IPC, NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_MOUNT_SETATTR = 442  # likewise
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # remove a folder or file; make each kind of node
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
_CLONE_THREAD = 0x00010000

# Architecture of the audit interface, then system call numbers.
_CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        "arch": 0xC000003E, "seccomp": 317, "socket": 41, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "ptrace": 101,
        "rt_sigqueueinfo": 129, "mount": 165, "umount2": 166, "tkill": 200, "tgkill": 234, "unshare": 272, "rt_tgsigqueueinfo": 297, "setns": 308,
        "process_vm_writev": 311, "execveat": 322, "pidfd_send_signal": 424, "io_uring_setup": 425, "clone3": 435,
    },
    "aarch64": {
        "arch": 0xC00000B7, "seccomp": 277, "umount2": 39, "mount": 40, "unshare": 97, "ptrace": 117, "kill": 129, "tkill": 130, "tgkill": 131,
        "rt_sigqueueinfo": 138, "socket": 198, "clone": 220, "execve": 221, "rt_tgsigqueueinfo": 240, "setns": 268, "process_vm_writev": 271,
        "execveat": 281, "pidfd_send_signal": 424, "io_uring_setup": 425, "clone3": 435,
    },
}  # fmt: skip


def _libc() -> Any | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _syscall(number: int, *arguments: Any) -> int:
    """A raw system call; -1 where it failed or there is none."""
    libc = _libc()
    if libc is None:
        return -1
    call = libc.syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)))


def _prctl(option: int, *arguments: int) -> bool:
    libc = _libc()
    return libc is not None and libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4])) == 0


def end_with_parent(signal_number: int) -> bool:
    """This process gets the signal when the thread that forked it ends; undone by gaining rights, so it comes after them."""
    return _prctl(_PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> bool:
    """Descendants whose parent ended become children of this process, also when they changed their session."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def no_new_rights() -> bool:
    """Executing a set-user-id program gives no rights any more; a condition of ``confine_writes`` and ``refuse_calls``."""
    return _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_rights(keep: Iterable[int]) -> None:
    """Take from root all capabilities but these numbers, effective with the next program that is executed."""
    kept = set(keep)
    for capability in range(64):
        if capability not in kept:
            _prctl(_PR_CAPBSET_DROP, capability)


def unshare(flags: int) -> bool:
    """Move this process (for ``NEW_PIDS`` its next child) to new namespaces; with ``NEW_USERS`` under the same user and group."""
    libc = _libc()
    user, group = (os.geteuid(), os.getegid()) if libc is not None else (0, 0)
    if libc is None or libc.unshare(ctypes.c_int(flags)) != 0:
        return False
    if flags & NEW_USERS:
        try:
            for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                    file.write(text)
        except OSError:
            return False
    return True


def private_mounts(shared_memory: int) -> bool:
    """In new namespaces: a ``/proc`` of this process tree alone, and an empty ``/dev/shm`` of that many bytes that goes with it."""
    return _mount("proc", "/proc", "proc", _NO_SUID | _NO_DEVICES | _NO_PROGRAMS) and (
        not os.path.isdir("/dev/shm") or _mount("tmpfs", "/dev/shm", "tmpfs", _NO_SUID | _NO_DEVICES, f"mode=1777,size={shared_memory}")
    )


def own_mounts() -> bool:
    """What is mounted from now on in a new namespace stays in it."""
    return _mount("none", "/", None, _PRIVATE | _RECURSIVE)


def read_only_but(folder: str) -> bool:
    """In new namespaces: all file systems become read-only (Linux 5.12), but for this folder. Devices can still be written to."""
    if not _mount(folder, folder, None, _BIND):
        return False
    return _set_read_only("/", True, recursive=True) and _set_read_only(folder, False, recursive=False)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> bool:
    libc = _libc()
    texts = [text.encode() if text is not None else None for text in (source, target, kind, data)]
    return libc is not None and libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]) == 0


class _MountAttributes(ctypes.Structure):
    _fields_ = [("to_set", ctypes.c_uint64), ("to_clear", ctypes.c_uint64), ("propagation", ctypes.c_uint64), ("users", ctypes.c_uint64)]


def _set_read_only(path: str, value: bool, *, recursive: bool) -> bool:
    attributes = _MountAttributes(int(value), int(not value), 0, 0)
    here, with_all_below = -100, 0x8000
    size = ctypes.sizeof(attributes)
    return _syscall(_MOUNT_SETATTR, here, os.fsencode(path), with_all_below if recursive else 0, ctypes.byref(attributes), size) == 0


def loopback_up() -> bool:
    """Switch on ``lo`` of a new network namespace: a process group of one process talks to itself over it."""
    import fcntl
    import socket
    import struct

    set_flags, up_and_running = 0x8914, 0x1 | 0x40
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe, set_flags, struct.pack("16sH14x", b"lo", up_and_running))
    except OSError:
        return False
    return True


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def confine_writes(folders: Iterable[str], files: Iterable[str], *, tcp: bool) -> int:
    """Landlock: from now on this thread and what it starts writes only below these folders and to these files; reading is as before.

    Without ``tcp`` it opens no TCP connection (version 4), and whatever the version allows it signals nobody outside (version 6). Paths that
    do not exist are passed over. Returns the version of Landlock, 0 where nothing holds.
    """
    version = _syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return 0
    handled = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = _Ruleset(handled, 0 if tcp or version < 4 else _TCP_BIND_AND_CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), size, 0)
    if ruleset < 0:
        return 0
    try:
        allowed = [(path, handled) for path in folders] + [(path, handled & (_WRITE_FILE | _TRUNCATE)) for path in files]
        for path, access in allowed:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            rule = _Beneath(access, descriptor)
            added = _syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0)
            os.close(descriptor)
            if added != 0:
                return 0
        if not no_new_rights() or _syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
            return 0
    finally:
        os.close(ruleset)
    return version


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("when_true", ctypes.c_uint8), ("when_false", ctypes.c_uint8), ("value", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets into struct seccomp_data
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def refuse_calls(*, processes: bool, internet: bool, local_sockets: bool) -> bool:
    """seccomp: all threads of this process, and what they start, get an error for these system calls, from whatever language they are made.

    ``processes``: no new process or program, no signal to another process, no change of namespaces; threads are free. ``internet``: no sockets
    of IPv4 and IPv6. ``local_sockets``: none of the Unix kind (pairs are free). Returns whether it holds.
    """
    numbers = _CALLS.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 2**32 and sys.byteorder == "little" else None
    if numbers is None:
        return False
    program: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, numbers["arch"]),
        (_RETURN, 0, 0, _ERROR | _EPERM),  # the 32-bit interface, whose numbers are others
        (_LOAD, 0, 0, _NUMBER),
    ]
    if platform.machine() == "x86_64":
        program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERROR | _EPERM)]  # x32, likewise

    def refuse(name: str, error: int) -> None:
        if name in numbers:
            program.extend([(_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ERROR | error)])

    def judge(name: str, *body: tuple[int, int, int, int]) -> None:
        """For this call alone run ``body``, which looks at the first argument and returns."""
        program.extend([(_EQUAL, 0, len(body) + 1, numbers[name]), (_LOAD, 0, 0, _FIRST_ARGUMENT), *body])

    if processes:
        names = ("fork", "vfork", "execve", "execveat", "ptrace", "process_vm_writev", "setns", "unshare", "mount", "umount2", "tkill")
        for name in (*names, "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"):
            refuse(name, _EPERM)
        refuse("clone3", _ENOSYS)  # its flags lie in memory, where a filter cannot look; libraries fall back to clone
        refuse("io_uring_setup", _ENOSYS)  # makes system calls past the filter
        judge("clone", (_ANY_BIT, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | _EPERM))
        for name in ("kill", "tgkill"):
            judge(name, (_EQUAL, 0, 1, os.getpid()), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | _EPERM))
    families = ([_AF_INET, _AF_INET6] if internet else []) + ([_AF_UNIX] if local_sockets else [])
    if families:
        tests = [(_EQUAL, len(families) - index, 0, family) for index, family in enumerate(families)]
        judge("socket", *tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | _EACCES))
    program.append((_RETURN, 0, 0, _ALLOW))
    code = (_Instruction * len(program))(*(_Instruction(*line) for line in program))
    filter_mode, all_threads = 1, 1
    return no_new_rights() and _syscall(numbers["seccomp"], filter_mode, all_threads, ctypes.byref(_Program(len(program), code))) == 0
