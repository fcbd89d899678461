"""What the child is given, and what the lock lets through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lora_lint.verify import confine
from lora_lint.verify.step import kernel, lock

ROOT = Path("/scratch")


def test_places_and_languages_pass_and_all_else_stays() -> None:
    passing = {"PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "/lib", "CUDA_VISIBLE_DEVICES": "1"}
    staying = {"DATA": "/data", "GITHUB_TOKEN": "x", "SSH_AUTH_SOCK": "/s"}
    passed = confine.environment(ROOT, {**passing, **staying})
    assert {name: passed[name] for name in passing} == passing
    assert not set(staying) & set(passed)


def test_each_place_that_libraries_write_to_lies_in_the_scratch_folder() -> None:
    given = dict.fromkeys(["HOME", "TMPDIR", "HF_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TORCH_HOME", "TRITON_CACHE_DIR"], "/home/me")
    passed = confine.environment(ROOT, given)
    assert all(passed[name].startswith(str(ROOT)) for name in given)
    assert not [name for name, value in passed.items() if value.startswith("/home/me") and name != "PYTHONUSERBASE"]


def test_packages_in_the_home_folder_are_still_found() -> None:
    assert confine.environment(ROOT, {"HOME": "/home/me"})["PYTHONUSERBASE"] == os.path.join("/home/me", ".local")


def test_what_the_script_names_passes_unless_it_is_secret() -> None:
    script = "os.environ['DATA'], os.getenv('HF_TOKEN'), os.environ['DATABASE_URL'], os.environ['WANDB_API_KEY'], os.environ['MISSING']"
    given = {"DATA": "/data", "HF_TOKEN": "hf_x", "DATABASE_URL": "postgres://me:secret@host/db", "OTHER": "y"}
    passed = confine.environment(ROOT, given, script)
    assert passed["DATA"] == "/data"
    assert [passed[name] for name in ("HF_TOKEN", "DATABASE_URL", "WANDB_API_KEY")] == ["withheld"] * 3
    assert not {"OTHER", "MISSING"} & set(passed)


def test_what_the_script_names_does_not_undo_what_is_set() -> None:
    passed = confine.environment(ROOT, {"HF_HOME": "/home/me", "WANDB_MODE": "online"}, "HF_HOME WANDB_MODE")
    assert passed["HF_HOME"].startswith(str(ROOT))
    assert passed["WANDB_MODE"] == "disabled"


def test_devices_are_hidden_where_the_step_must_not_touch_them() -> None:
    assert confine.environment(ROOT, {"CUDA_VISIBLE_DEVICES": "0"}, hide_devices=True)["CUDA_VISIBLE_DEVICES"] == ""


def test_secrets_are_looked_for_where_the_user_keeps_them() -> None:
    found = confine.secrets({"HOME": "/home/me", "HF_HOME": "/hf", "NETRC": "/n"})
    assert {os.path.join("/home/me", ".ssh"), os.path.join("/hf", "token"), "/n"} <= set(found)


def test_memory_is_eight_gigabytes_or_less() -> None:
    assert 0 < confine.default_memory_gb() <= 8
    assert confine.default_memory_gb() <= confine.default_memory_gb(device=True) <= 32


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_what_is_read_only_is_removed_and_what_a_link_points_to_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "scratch" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "file").write_text("x")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (folder / "link").symlink_to(tmp_path / "kept")
    for place in (folder / "file", folder, folder.parent):
        place.chmod(0)
    confine.remove(tmp_path / "scratch")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_removing_what_is_gone_or_cannot_go_changes_nothing_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o751)
    confine.remove(tmp_path / "gone")
    (tmp_path / "stays").mkdir()
    monkeypatch.setattr(confine.shutil, "rmtree", lambda *_, **__: None)
    confine.remove(tmp_path / "stays")
    assert tmp_path.stat().st_mode & 0o777 == 0o751


@pytest.fixture
def rules(tmp_path: Path) -> dict[str, lock._Handler]:
    """The judgements of the lock, without closing it."""
    (tmp_path / "root" / "out").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    return lock._Rules(str((tmp_path / "root").resolve()), [str((tmp_path / "secret").resolve())]).handlers()


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("open", ("{root}/a", "w", os.O_WRONLY | os.O_CREAT)),
        ("open", ("{root}/../root/a", None, os.O_RDWR)),
        ("open", ("{there}/data.jsonl", "r", os.O_RDONLY)),
        ("open", (3, "w", os.O_WRONLY)),
        ("open", ("/dev/null", "w", os.O_WRONLY)),
        ("os.rename", ("{root}/a", "{root}/b", -1, -1)),
        ("os.remove", ("{root}/a", -1)),
        ("os.kill", (os.getpid(), 15)),
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0)),
        ("ctypes.dlopen", ("libcuda.so.1",)),
        ("ctypes.dlopen", ("/usr/lib/libnvidia-ml.so.1",)),
        ("ctypes.dlsym", (None, "cuInit")),
        ("sqlite3.connect", (":memory:",)),
    ],
)
def test_let_through(rules: dict[str, lock._Handler], tmp_path: Path, event: str, arguments: tuple[object, ...]) -> None:
    rules[event](filled(arguments, tmp_path))


@pytest.mark.parametrize(
    ("event", "arguments", "text"),
    [
        ("open", ("{there}/a", "w", os.O_WRONLY), "writing {there}/a"),
        ("open", ("{there}/a", "r+", None), "writing {there}/a"),
        ("open", ("{root}/../a", None, os.O_CREAT), "writing {there}/a"),
        ("open", ("{root}x/a", "w", os.O_WRONLY), "writing {there}/rootx/a"),
        ("open", ("{there}/secret/key", "r", os.O_RDONLY), "reading {there}/secret/key"),
        ("open", ("{root}/../secret", None, os.O_RDONLY), "reading {there}/secret"),
        ("os.rename", ("{root}/a", "{there}/b", -1, -1), "moving to {there}/b"),
        ("os.rename", ("{there}/a", "{root}/b", -1, -1), "moving {there}/a"),
        ("os.link", ("{there}/a", "{root}/b", -1, -1), "linking to {there}/a"),
        ("os.remove", ("{there}/a", -1), "deleting {there}/a"),
        ("os.rmdir", ("{root}/out/", -1), "deleting {root}/out"),
        ("os.chmod", ("{there}/a", 0, -1), "changing the mode of {there}/a"),
        ("os.kill", (1, 9), "signalling process 1"),
        ("os.kill", (-1, 9), "signalling process -1"),
        ("os.killpg", (0, 9), "signalling other processes"),
        ("subprocess.Popen", ("git", ["git"], None, None), "starting git"),
        ("os.system", (b"rm -r x",), "starting rm -r x"),
        ("socket.connect", (None, ("203.0.113.1", 80)), "connecting to ('203.0.113.1', 80)"),
        ("socket.connect", (None, "{there}/docker.sock"), "connecting to '{there}/docker.sock'"),
        ("socket.getaddrinfo", ("example.com", 80, 0, 0, 0), "looking up 'example.com' in the network"),
        ("ctypes.dlopen", (None,), "opening the C library"),
        ("ctypes.dlopen", ("libc.so.6",), "opening libc.so.6"),
        ("ctypes.dlopen", ("{root}/made.so",), "loading code written at run time: {root}/made.so"),
        ("ctypes.dlsym", (None, "system"), "calling system of the C library"),
        ("sqlite3.connect", ("{there}/new.db",), "making {there}/new.db"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
def test_refused(rules: dict[str, lock._Handler], tmp_path: Path, event: str, arguments: tuple[object, ...], text: str) -> None:
    with pytest.raises(lock.RefusedError) as error:
        rules[event](filled(arguments, tmp_path))
    assert str(error.value) == filled((text,), tmp_path)[0] + ": not done under --verify"


def filled(arguments: tuple[object, ...], there: Path) -> tuple[object, ...]:
    here = str(there.resolve())
    return tuple(a.replace("{root}", f"{here}/root").replace("{there}", here) if isinstance(a, str) else a for a in arguments)


@pytest.mark.skipif(sys.platform != "linux", reason="resolves descriptors by /proc")
def test_a_path_relative_to_an_open_folder_is_judged_there(rules: dict[str, lock._Handler], tmp_path: Path) -> None:
    inside, outside = os.open(tmp_path / "root", os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    try:
        rules["os.remove"](("a", inside))
        with pytest.raises(lock.RefusedError):
            rules["os.remove"](("a", outside))
    finally:
        os.close(inside)
        os.close(outside)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("unshare", (kernel.NEW_PIDS,)), ("end_with_parent", (9,)), ("adopt_orphans", ()), ("own_mounts", ()), ("no_new_rights", ())],
)
def test_elsewhere_than_on_linux_nothing_holds_and_nothing_raises(monkeypatch: pytest.MonkeyPatch, name: str, arguments: tuple[int, ...]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert getattr(kernel, name)(*arguments) is False
    assert kernel.confine_writes([], [], tcp=False) == 0
    assert kernel.refuse_calls(processes=True, internet=True, local_sockets=True) is False


@pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")
def test_on_an_unknown_processor_there_is_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.platform, "machine", lambda: "riscv64")
    assert kernel.refuse_calls(processes=True, internet=True, local_sockets=True) is False


def test_the_child_needs_the_standard_library_alone() -> None:
    code = f"""
import importlib.util, sys
folder = {str(Path(lock.__file__).parent)!r}
spec = importlib.util.spec_from_file_location("lora_lint_step", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["lora_lint_step"] = importlib.util.module_from_spec(spec)
from lora_lint_step import lock
print([name for name in sys.modules if name.partition(".")[0] in ("lora_lint", "libcst", "click", "torch")])
"""
    assert subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
