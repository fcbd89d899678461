"""Inputs and circumstances that must not make the program crash, hang, or harm a file. The slow tests are marked ``robust``, see README.md."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import programs
import pytest
import trees
import weird
from harness import one_file, one_text, run

from lora_lint import fix
from lora_lint.source import Source

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")

BAD = weird.HEAD + b"model = AutoModelForCausalLM.from_pretrained('m', load_in_4bit=True)\nmodel = get_peft_model(model, None)\nmodel.backward()\n"
PLAIN = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def bare(*arguments: str | bytes, folder: Path, environment: dict[str, str] | None = None, **more: object) -> subprocess.CompletedProcess[bytes]:
    """The program, without decoding what it says; internal errors are tracebacks."""
    command = [sys.executable, "-m", "lora_lint", *arguments]
    variables = {**os.environ, "LORA_LINT_RAISE": "1", "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=120, check=False, **more)  # type: ignore[call-overload]


def clean(done: subprocess.CompletedProcess[bytes]) -> bool:
    return done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr and b"internal error" not in done.stderr


# --- inputs --------------------------------------------------------------------------------------------------------------------------------------


def test_weird_sources(tmp_path: Path) -> None:
    for name, raw in weird.SOURCES.items():
        (tmp_path / name).write_bytes(raw)
    outcomes = list(run(((name, str(tmp_path / name)) for name in weird.SOURCES), one_file))
    assert [outcome for outcome in outcomes if outcome.bad] == []
    assert len(outcomes) == len(weird.SOURCES)


def test_weird_sources_in_one_run(tmp_path: Path) -> None:
    for name, raw in weird.SOURCES.items():
        (tmp_path / name).write_bytes(raw)
    assert clean(bare(".", "--output-format", "json", folder=tmp_path))


def test_generated_programs() -> None:
    assert [outcome for outcome in run(programs.named(100, seed=1), one_text) if outcome.bad] == []


@pytest.mark.robust
def test_20000_generated_programs() -> None:
    assert [outcome for outcome in run(programs.named(20_000, seed=int(time.time())), one_text) if outcome.bad] == []


@pytest.mark.robust
@pytest.mark.parametrize("folder", trees.folders(), ids=str)
def test_trees(folder: Path) -> None:
    chosen = [(str(file), str(file)) for file in trees.files([folder])]
    assert [outcome for outcome in run(chosen, one_file) if outcome.bad] == []


def test_harness_names_what_dies_and_goes_on() -> None:
    def work(argument: str) -> None:
        if argument == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if argument == "hang":
            time.sleep(60)
        if argument == "raise":
            raise ZeroDivisionError

    outcomes = list(run([(name, name) for name in ("a", "die", "raise", "hang", "b")], work, seconds=2))
    assert [outcome.kind for outcome in outcomes] == ["ok", "died", "crash", "hang", "ok"]


# --- files that are none -------------------------------------------------------------------------------------------------------------------------


def test_odd_files(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "round").symlink_to(".")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "gone.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "good.py").write_text("import peft\n")
    done = bare(".", folder=tmp_path)
    assert clean(done)
    assert b"No findings in 1 file" in done.stderr


def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    began = time.monotonic()
    done = bare("pipe.py", folder=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, b"error: pipe.py: cannot read: a pipe that nobody writes to")
    assert time.monotonic() - began < 60


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"(printf 'import peft\\n'; sleep 0.5; printf '(\\n') | {sys.executable} -m lora_lint /dev/stdin"], capture_output=True
    )
    assert done.returncode == 2
    assert b"was never closed" in done.stdout


def test_200_megabytes_are_skipped_with_a_note(tmp_path: Path) -> None:
    for name in ("big.py", "big.ipynb"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(200 << 20)
    done = bare(".", folder=tmp_path)
    assert done.returncode == 0
    assert b"big.py: skipped, too large: more than 10 MiB" in done.stderr
    assert b"big.ipynb: skipped, too large: more than 64 MiB" in done.stderr


@pytest.mark.parametrize("option", ["concise", "full", "json", "sarif", "github", "gitlab", "junit", "rdjson", "jsonl", "rdjsonl"])
def test_names_that_are_no_text(tmp_path: Path, option: str) -> None:
    name = b"na\xefve \n\x1b[31m.py"
    try:
        (Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))).write_bytes(BAD)
    except OSError:
        pytest.skip("the file system takes no such names")
    assert clean(bare(".", "--output-format", option, folder=tmp_path))
    assert clean(bare(name, "--output-format", option, "--output-file", "report.txt", folder=tmp_path))
    assert clean(bare(name, "--write-baseline", folder=tmp_path))
    assert clean(bare(name, "--diff", folder=tmp_path, environment=PLAIN))


def test_a_locale_without_utf_8(tmp_path: Path) -> None:
    (tmp_path / "größe.py").write_bytes(BAD + "x = 'größe 👩'; model.to('cuda')\n".encode())
    (tmp_path / "pyproject.toml").write_text('# ö\n[tool.lora-lint]\nper-file-ignores = {"ö*.py" = ["LL1"]}\n', encoding="utf-8")
    for more in ((), ("--diff",), ("--statistics",), ("--output-format", "json"), ("--add-ignore=weil größer",), ("--write-baseline",), ("--fix",)):
        assert clean(bare(".", *more, folder=tmp_path, environment=PLAIN)), more
    for command in (("recipe", "größe.py"), ("target", "größe.py"), ("rules",), ("explain", "LL201"), ("--help",)):
        assert clean(bare(*command, folder=tmp_path, environment=PLAIN)), command


COMMANDS = (
    ("--nothing",), ("check", "--select", "LL999"), ("--select", ""), ("--target", ">=="), ("--target", "transformers"), ("--severity", "x"), ("",),
    ("--config", "nowhere.toml"), ("--config", "."), ("--output-file", "."), ("--output-file", "no/where"), ("--baseline", "."),
    ("--baseline", "nowhere"),
    ("-",), ("-", "--fix"), ("-", "--stdin-filename", ""), ("-", "--stdin-filename", "x.ipynb"), ("--python", "nowhere"), ("explain",),
    ("explain", ""),
    ("recipe", "."), ("recipe", "nowhere"), ("target", "."), ("target", ""), ("recipe", "/dev/null"), ("/dev/null",),
    ("--add-ignore=\n#",), ("--fix", "--diff"),
    ("~root",), ("a" * 5000,), ("--verify",), ("--verify-args", "'"), ("x.py", "./x.py", "../x.py"), ("--prune-baseline",),
    ("check", "check"), ("--", "-x"),
)  # fmt: skip


def test_command_lines(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import peft\n")
    for command in COMMANDS:
        done = bare(*command, folder=tmp_path, input=b"import peft\n")
        assert clean(done), (command, done.stderr)


PROJECTS = (
    b"[tool.lora-lint]\nselect = 1\n", b"[tool.lora-lint\n", b"\xff", b"[tool]\nlora-lint = 1\n", b"tool = 1\n", b"\0",
    b"[tool.lora-lint]\ntarget = ''\n",
    b"[tool.lora-lint]\nexclude = ['[', '!', '', '**', '/']\n", b"[tool.lora-lint]\nbaseline = ''\n", b"[tool.lora-lint]\nbaseline = '\\u0000'\n",
    b"[project]\ndependencies = 1\n", b"[project]\ndependencies = ['peft>>1', '', 'peft @ x', 1]\nrequires-python = '!'\n", b"x = [" * 3000,
    b"[tool.lora-lint]\nper-file-ignores = {'' = []}\n", b"[tool.lora-lint.target]\npeft = '>=99999999999999999999999999'\n",
    b"x = 1e999\ny = " + b"9" * 9999,
)  # fmt: skip


def test_broken_projects(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(BAD)
    for text in PROJECTS:
        (tmp_path / "pyproject.toml").write_bytes(text)
        done = bare("x.py", folder=tmp_path)
        assert clean(done), (text, done.stderr)


# --- writing -------------------------------------------------------------------------------------------------------------------------------------


def test_a_file_that_grows_while_it_is_checked_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("old\n")

    def ready() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        fix.write_atomically(file, b"new\n", ready)
    assert (file.read_text(), os.listdir(tmp_path)) == ("old\n", ["x.py"])


@pytest.mark.parametrize("nameless", [True, False])
def test_mode_stays_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool) -> None:
    if not nameless:
        monkeypatch.setattr(fix, "_nameless", lambda folder: None)
    file = tmp_path / ("ä" * 120 + ".py")
    file.write_text("old\n")
    file.chmod(0o751)
    fix.write_atomically(file, b"new\n")
    assert (file.read_text(), file.stat().st_mode & 0o777, len(os.listdir(tmp_path))) == ("new\n", 0o751, 1)


@pytest.mark.parametrize("nameless", [True, False])
def test_a_full_disk_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool) -> None:
    if not nameless:
        monkeypatch.setattr(fix, "_nameless", lambda folder: None)
    file = tmp_path / "x.py"
    file.write_text("old\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(OSError):
            fix.write_atomically(file, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (file.read_text(), os.listdir(tmp_path)) == ("old\n", ["x.py"])


def test_full_output(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (tmp_path / "x.py").write_bytes(weird.SCRIPT)
    for options in ((), ("--output-format", "sarif"), ("--diff",)):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "lora_lint", "x.py", *options]
            done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        assert b"Traceback" not in done.stderr
        assert done.returncode == 2, done.stderr


def scripts(folder: Path, count: int) -> Iterator[tuple[Path, bytes]]:
    raw = (Path(__file__).parents[2] / "examples" / "dispatched_cuda.py").read_bytes()
    for number in range(count):
        file = folder / f"s{number}.py"
        file.write_bytes(raw)
        yield file, raw


def killed(folder: Path, times: int, seed: int) -> None:
    """Start --fix and kill it at a random moment, again and again; every file is the old or the new one."""
    chance = random.Random(seed)
    files = dict(scripts(folder, 5))
    old = next(iter(files.values()))
    assert bare(".", "--fix", "--unsafe-fixes", folder=folder).returncode in (0, 1)
    new = (folder / "s0.py").read_bytes()
    assert new != old
    began = time.monotonic()
    for file in files:
        file.write_bytes(old)
    bare(".", "--fix", "--unsafe-fixes", folder=folder)
    whole = time.monotonic() - began
    for _ in range(times):
        for file in files:
            file.write_bytes(old)
        process = subprocess.Popen(
            [sys.executable, "-m", "lora_lint", ".", "--fix", "--unsafe-fixes"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.4, 1.05) * whole)
        process.kill()
        process.wait()
        assert {file.read_bytes() for file in files} <= {old, new}
        assert {entry for entry in os.listdir(folder) if not entry.startswith(".lora")} == {file.name for file in files}


def test_killed_while_fixing(tmp_path: Path) -> None:
    killed(tmp_path, 3, 1)


@pytest.mark.robust
def test_killed_500_times_while_fixing(tmp_path: Path) -> None:
    killed(tmp_path, 500, int(time.time()))


def test_read_is_one_state_of_a_file(tmp_path: Path) -> None:
    """A file that is written over while it is read is one that is refused or read, not a crash."""
    file = tmp_path / "x.py"
    file.write_bytes(weird.SCRIPT)
    script = f"import itertools\nfor n in itertools.count():\n    open({str(file)!r}, 'wb').write({weird.SCRIPT!r} * (n % 50))\n"
    writer = subprocess.Popen([sys.executable, "-c", script])
    try:
        for _ in range(200):
            with contextlib.suppress(Exception):
                one_file(str(file))
            assert isinstance(Source.read(file), Source)
    finally:
        writer.kill()
        writer.wait()
