"""What scripts may do to the process that runs them, to their machine and to us: each ends in time, with one clear line, and leaves nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lora_lint.verify.launch import Outcome, run_step

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the supervisor is for POSIX systems")

LINUX = sys.platform == "linux"

# Loads the lock as the step does, and gives the scripts below a way to report.
PRELUDE = """
import importlib.util, json, os, sys, time
folder, plan = sys.argv[1], json.load(open(sys.argv[2]))
spec = importlib.util.spec_from_file_location("lora_lint_step", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["lora_lint_step"] = importlib.util.module_from_spec(spec)
from lora_lint_step import lock as _lock
def report(**seen):
    with open(plan["seen"], "w") as file:
        json.dump({"end": "step", **seen}, file)
def attempt(action):
    try:
        return repr(action())
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
"""
LOCKED = PRELUDE + "_lock.lock(plan['root'], plan['secrets'])\n"

Run = Callable[..., Outcome]


def processes(mark: str) -> list[str]:
    """The processes whose command line holds ``mark``."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in entry.read_bytes():
                found.append(entry.parent.name)
    return found


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where scratch folders are made; at the end there is none, and no process that was started with one."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert processes(str(folder)) == []


@pytest.fixture(params=[True, False], ids=["kernel", "bare"])
def run(request: pytest.FixtureRequest, scratch: Path) -> Run:
    """Runs code as the script of a step, with and without the help of the Linux kernel."""
    if request.param and not LINUX:
        pytest.skip("Linux alone")

    def run(code: str, *, timeout: float = 20, prelude: str = LOCKED, memory_gb: float = 1) -> Outcome:
        began = time.monotonic()
        outcome = run_step({}, python=Path(sys.executable), timeout=timeout, memory_gb=memory_gb, bootstrap=prelude + code, kernel=request.param)
        assert time.monotonic() - began < timeout + 6
        assert outcome.detail
        assert "\n" not in outcome.detail
        return outcome

    return run


def answer(outcome: Outcome) -> str:
    assert outcome.seen is not None, outcome
    return str(outcome.seen["answer"])


def held_by(outcome: Outcome, what: str) -> None:
    """Skip where the system lacks what the test is about."""
    if not any(what in line and not line.startswith("not:") for line in outcome.confinement):
        pytest.skip(f"no {what} here")


def test_an_endless_loop_ends_at_the_timeout(run: Run) -> None:
    outcome = run("while True: pass", timeout=1)
    assert (outcome.end, outcome.detail) == ("timeout", "the script did not reach the end of its first step within 1 s")


def test_one_that_ignores_the_wish_to_end_is_ended(run: Run) -> None:
    ignore = "import signal\nfor number in range(1, 32):\n    try: signal.signal(number, signal.SIG_IGN)\n    except OSError: pass\n"
    assert run(ignore + "while True: time.sleep(1)", timeout=1).end == "timeout"


def test_the_wish_to_end_comes_before_the_end_so_that_it_can_still_report(run: Run) -> None:
    code = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: (report(end='timeout', line=7), os._exit(0)))\ntime.sleep(60)"
    outcome = run(code, timeout=1)
    assert outcome.end == "timeout"
    assert outcome.seen == {"end": "timeout", "line": 7}


def test_a_step_that_is_done_counts_although_the_script_then_hangs(run: Run) -> None:
    assert run("report()\ntime.sleep(60)", timeout=1).end == "reported"


def test_workers_are_not_forked(run: Run) -> None:
    outcome = run("report(answer=[attempt(os.fork) for _ in range(3)])")
    assert answer(outcome).count("RefusedError: forking: not done under --verify") == 3


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_starts_nothing(run: Run, method: str) -> None:
    code = f"import multiprocessing as m\nreport(answer=attempt(m.get_context({method!r}).Process(target=print).start))"
    assert "Refused" in answer(run(code))


def test_no_program_is_started(run: Run) -> None:
    code = """
import subprocess
report(answer=[attempt(lambda: subprocess.run(["id"])), attempt(lambda: os.system("id")), attempt(lambda: os.execv("/bin/ls", ["ls"]))])
"""
    assert answer(run(code)).count("RefusedError: starting") == 3


def test_c_code_forks_and_signals_nobody(run: Run) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None)
fork, kill, system = libc.fork, libc.kill, libc.system
held = _lock.lock(plan['root'])
report(confinement=held, answer=[fork(), kill(os.getppid(), 0), kill(-1, 0), system(b'id') >> 8, kill(os.getpid(), 0)])
"""
    outcome = run(code, prelude=PRELUDE)
    held_by(outcome, "seccomp")
    assert answer(outcome) == "[-1, -1, -1, 127, 0]"


def test_threads_are_free(run: Run) -> None:
    code = "import threading\nt = threading.Thread(target=report, kwargs={'answer': 'threads'})\nt.start()\nt.join()"
    assert answer(run(code)) == "threads"


def test_processes_from_before_the_lock_end_with_it(run: Run) -> None:
    code = "made = [os.fork() or time.sleep(60) for _ in range(30)]\nreport(answer=len(made))\nos._exit(0)"
    assert answer(run(code, prelude=PRELUDE)) == "30"


def test_their_number_is_limited(run: Run) -> None:
    bomb = "def bomb():\n    for _ in range(1500):\n        os.fork() or time.sleep(60)\n"
    outcome = run(bomb + "report(answer=attempt(bomb))\nos._exit(0)", prelude=PRELUDE)
    held_by(outcome, "processes and threads")
    assert answer(outcome).startswith("BlockingIOError")


def test_daemons_in_sessions_of_their_own_are_ended_too(run: Run) -> None:
    daemon = """
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    os.wait()
"""
    outcome = run(daemon + "daemon()\ndaemon()\nos._exit(3)", prelude=PRELUDE)
    assert (outcome.end, outcome.detail) == ("no report", "the script's process ended with status 3 and reported nothing")


def test_memory_is_refused_beyond_the_limit(run: Run) -> None:
    assert answer(run("report(answer=attempt(lambda: len(bytearray(50 << 30))))")).startswith("MemoryError")


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_shared_memory_counts_as_well(run: Run) -> None:
    code = "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): m[at] = 1\ntime.sleep(60)"
    outcome = run(code, memory_gb=0.25)
    assert (outcome.end, outcome.detail) == ("killed", "the script was ended: it took more than 0.25 GB of memory")


def test_python_code_reaches_no_network(run: Run) -> None:
    code = """
import socket, urllib.request
report(answer=[
    attempt(lambda: socket.create_connection(("203.0.113.1", 80), 1)),
    attempt(lambda: socket.socket().connect(("203.0.113.1", 80))),
    attempt(lambda: urllib.request.urlopen("http://example.com", timeout=1)),
    attempt(lambda: socket.gethostbyname("example.com")),
])
"""
    assert answer(run(code)).count("RefusedError: ") == 4


def test_c_code_reaches_no_network(run: Run) -> None:
    code = """
import _socket, ctypes
libc = ctypes.CDLL(None, use_errno=True)
address = (2).to_bytes(2, sys.byteorder) + (80).to_bytes(2, "big") + bytes([203, 0, 113, 1]) + bytes(8)
one = libc.socket(2, 1, 0)
connected = libc.connect(one, address, 16)
report(answer=(connected, os.strerror(ctypes.get_errno())))
"""
    outcome = run(code, prelude=PRELUDE)
    held_by(outcome, "no network")
    assert answer(outcome) in ("[-1, 'Network is unreachable']", "[-1, 'Bad file descriptor']")


def test_nothing_is_written_outside(run: Run, tmp_path: Path) -> None:
    code = f"""
import pathlib, shutil
there = pathlib.Path({str(tmp_path)!r})
report(answer=[attempt(action) for action in (
    lambda: open(there / "a", "w"), lambda: os.open(there / "b", os.O_CREAT | os.O_WRONLY), lambda: (there / "c").write_text("x"),
    lambda: os.mkdir(there / "d"), lambda: os.remove(there / "kept"), lambda: os.rename(there / "kept", "x"),
    lambda: shutil.rmtree(there / "folder"), lambda: os.chmod(there / "kept", 0), lambda: os.truncate(there / "kept", 0),
    lambda: os.symlink("x", there / "e"), lambda: os.link(there / "kept", "x"), lambda: os.utime(there / "kept"),
)])
"""
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    outcome = run(code)
    assert answer(outcome).count("Refused") == 12, answer(outcome)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "kept", "scratch"]
    assert (tmp_path / "kept").read_text() == "kept"
    assert (tmp_path / "folder" / "file").exists()


def test_c_code_writes_nothing_outside(run: Run, tmp_path: Path) -> None:
    code = f"""
import ctypes
opens, changes = ctypes.CDLL(None).creat, ctypes.CDLL(None).unlink
_lock.lock(plan['root'])
report(answer=[opens({os.fsencode(tmp_path / "a")!r}, 0o600), changes({os.fsencode(tmp_path / "kept")!r}), opens(b"inside", 0o600) > 0])
"""
    (tmp_path / "kept").touch()
    outcome = run(code, prelude=PRELUDE)
    held_by(outcome, "writes in its own folder alone")
    assert answer(outcome) == "[-1, -1, True]"
    assert (tmp_path / "kept").exists()


def test_the_home_folder_is_another(run: Run) -> None:
    code = "open(os.path.expanduser('~/.bashrc'), 'w').write('x')\nreport(answer=os.path.expanduser('~').startswith(plan['root']))"
    assert answer(run(code)) == "True"


def test_links_out_of_the_folder_do_not_help(run: Run, tmp_path: Path) -> None:
    code = f"os.symlink({str(tmp_path)!r}, 'out')\nreport(answer=attempt(lambda: open('out/a', 'w')))"
    assert "RefusedError: writing" in answer(run(code))
    assert not (tmp_path / "a").exists()


def test_what_links_point_to_stays_when_the_folder_is_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o755)
    (tmp_path / "kept" / "file").touch()
    outcome = run(f"os.symlink({str(tmp_path / 'kept')!r}, 'out')\nreport(answer=1)")
    assert outcome.end == "reported"
    assert (tmp_path / "kept" / "file").exists()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o755


def test_it_may_delete_what_it_made_and_not_where_it_reports(run: Run) -> None:
    code = """
import shutil
os.makedirs("a/b")
open("a/b/c", "w").close()
shutil.rmtree("a")
report(answer=[os.listdir("."), attempt(lambda: shutil.rmtree(plan["root"])), attempt(lambda: os.rename(plan["root"] + "/out", "x"))])
"""
    outcome = run(code)
    assert outcome.seen is not None
    empty, removed, moved = outcome.seen["answer"]
    assert empty == []
    assert "RefusedError: deleting" in removed
    assert "RefusedError: moving" in moved


def test_one_that_deletes_its_own_folder_reports_nothing(run: Run) -> None:
    outcome = run("import shutil\nshutil.rmtree(plan['root'], ignore_errors=True)\nos._exit(0)", prelude=PRELUDE)
    assert outcome.end == "no report"


def test_read_only_files_and_folders_are_removed_too(run: Run) -> None:
    code = "os.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.chmod('a/b/c', 0)\nos.chmod('a/b', 0)\nos.chmod('a', 0)\nreport(answer=1)"
    assert run(code).end == "reported"


def test_a_huge_file_is_cut_off(run: Run) -> None:
    code = "f = open('big', 'wb')\nreport(answer=attempt(lambda: (f.seek(100 << 30), f.write(b'x'), f.flush())))"
    assert "File too large" in answer(run(code))


def test_keys_and_tokens_are_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".ssh/id_rsa", ".cache/huggingface/token", ".netrc", "data.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("readable")
    names = [".ssh/id_rsa", ".cache/huggingface/token", ".netrc", "data.txt"]
    code = f"report(answer=[attempt(lambda: open(os.path.join({str(tmp_path)!r}, name)).read()) for name in {names!r}])"
    outcome = run(code)
    assert answer(outcome).count("RefusedError: reading") == 3
    assert answer(outcome).count("readable") == 1


def test_secrets_are_not_in_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "SOME_SETTING"):
        monkeypatch.setenv(name, "not-for-you")
    outcome = run("report(answer=[value for value in os.environ.values() if value == 'not-for-you'])")
    assert answer(outcome) == "[]"


def test_input_is_at_its_end(run: Run) -> None:
    assert answer(run("report(answer=attempt(lambda: input('model? ')))")).startswith("EOFError")


def test_a_gigabyte_of_output_is_read_and_forgotten(run: Run) -> None:
    outcome = run("block = 'x' * (1 << 20)\nfor _ in range(1024): print(block)\nprint('the end', file=sys.stderr)\nreport(answer=1)", timeout=60)
    assert outcome.end == "reported"
    assert len(outcome.output_tail) <= 4096
    assert outcome.output_tail.endswith("the end\n")


def test_closed_streams_change_nothing(run: Run) -> None:
    assert run("sys.stdout.close()\nsys.stderr.close()\nos.close(1)\nos.close(2)\ntime.sleep(0.3)\nreport(answer=1)").end == "reported"


@pytest.mark.parametrize(
    ("code", "status"), [("sys.exit(4)", 4), ("raise SystemExit", 0), ("os._exit(5)", 5), ("raise KeyboardInterrupt", -2), ("1 / 0", 1)]
)
def test_one_that_leaves_without_a_report_is_told_by_its_status(run: Run, code: str, status: int) -> None:
    outcome = run(code)
    assert outcome.end == ("killed" if status < 0 else "no report")
    assert ("SIGINT" if status < 0 else f"status {status} and reported nothing") in outcome.detail


def test_a_crash_in_native_code_is_told_by_its_signal(run: Run) -> None:
    outcome = run("import ctypes\nctypes.string_at(0)")
    assert (outcome.end, outcome.detail) == ("killed", "the script's process was killed by SIGSEGV (a crash in native code)")


def test_its_parent_is_not_signalled(run: Run) -> None:
    assert "RefusedError: signalling process" in answer(run("report(answer=attempt(lambda: os.kill(os.getppid(), 9)))"))


def test_one_that_kills_its_parent_before_the_lock_ends_with_it(run: Run) -> None:
    outcome = run("os.kill(os.getppid(), 9)\nwhile True: time.sleep(1)", prelude=PRELUDE, timeout=2)
    assert outcome.end in ("timeout", "killed", "no report")


def test_what_was_refused_can_be_told(run: Run) -> None:
    code = "attempt(lambda: open('/etc/x', 'w'))\nattempt(lambda: os.system('id'))\nreport(answer=_lock.refusals)"
    assert answer(run(code)) == "['writing /etc/x', 'starting id']"


def test_libraries_load_lazily_but_not_the_c_library(run: Run) -> None:
    code = """
import ctypes, _ctypes
report(answer=[attempt(lambda: ctypes.CDLL(None)), attempt(lambda: ctypes.CDLL("libc.so.6")), attempt(lambda: ctypes.pythonapi.system),
    attempt(lambda: ctypes.CDLL(_ctypes.__file__))])
"""
    outcome = run(code)
    assert outcome.seen is not None
    *refused, loaded = outcome.seen["answer"]
    assert all(text.startswith("Refused") for text in refused)
    assert loaded.startswith("<CDLL")
