"""Where versions are learned from: each kind of source, which one wins, and what is broken."""

from __future__ import annotations

import os
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lora_lint.dependencies import Derivation, Detector, folders
from lora_lint.dependencies.installed import environment
from lora_lint.target import TargetError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(name: str, text: str | bytes) -> None:
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, str):
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    else:
        file.write_bytes(text)


def derive(script: str = "train.py", text: str = "") -> Derivation:
    return Detector().derive(Path(script).absolute(), textwrap.dedent(text).lstrip("\n"))


def known(found: Derivation) -> dict[str, str]:
    """Each known library as ``first..last place``."""
    shown = {}
    for library, (versions, place) in found.known.items():
        shown[library] = f"{versions[0]}{f'..{versions[-1]}' if len(versions) > 1 else ''} {place}"
    return shown


SOURCES = {
    "uv.lock": (
        """
        version = 1
        [[package]]
        name = "numpy"
        version = "2.0.0"

        [[package]]
        name = "peft"
        version = "0.12.0"
        source = { registry = "https://pypi.org/simple" }
        dependencies = [{ name = "torch" }]
        """,
        {"peft": "0.12.0 uv.lock:6"},
    ),
    "poetry.lock": (
        """
        [[package]]
        name = "transformers"
        version = "4.44.2"
        optional = false

        [package.dependencies]
        tokenizers = ">=0.19,<0.20"

        [metadata]
        lock-version = "2.0"
        """,
        {"transformers": "4.44.2 poetry.lock:1"},
    ),
    "pdm.lock": ('[[package]]\nname = "trl"\nversion = "0.9.4"\n', {"trl": "0.9.4 pdm.lock:1"}),
    "pylock.toml": ('lock-version = "1.0"\n[[packages]]\nname = "peft"\nversion = "0.12.0"\n', {"peft": "0.12.0 pylock.toml:2"}),
    "pylock.gpu.toml": ('[[packages]]\nname = "peft"\nversion = "0.12.0"\n', {"peft": "0.12.0 pylock.gpu.toml:1"}),
    "Pipfile.lock": (
        '{\n  "default": {\n    "peft": {\n      "version": "==0.12.0"\n    }\n  },\n  "develop": {"trl": {"version": "==0.9.4"}}\n}\n',
        {"peft": "0.12.0 Pipfile.lock:3"},
    ),
    "conda-lock.yml": (
        "package:\n- name: pytorch\n  version: 2.4.0\n  platform: linux-64\n- name: peft\n  version: '0.12.0'\n  manager: pip\n",
        {"torch": "2.4.0 conda-lock.yml:2", "peft": "0.12.0 conda-lock.yml:5"},
    ),
    "requirements.txt": (
        """
        --index-url https://example.com/simple
        Transformers[torch] == 4.44.2 ; python_version >= "3.9"  # pinned
        peft>=0.12,<0.14 \\
            --hash=sha256:aa \\
            --hash=sha256:bb
        -e git+https://github.com/huggingface/trl.git@v0.9.4#egg=trl
        https://example.com/bitsandbytes-0.43.1-py3-none-any.whl
        accelerate @ git+https://github.com/huggingface/accelerate@v1.0.0
        """,
        {
            "transformers": "4.44.2 requirements.txt:2",
            "peft": "0.12.0..0.13.2 requirements.txt:3",
            "trl": "0.9.4 requirements.txt:6",
            "bitsandbytes": "0.43.1 requirements.txt:7",
            "accelerate": "1.0.0 requirements.txt:8",
        },
    ),
    "requirements-gpu.txt": ("peft==0.12.0\n", {"peft": "0.12.0 requirements-gpu.txt:1"}),
    "requirements/train.txt": ("peft==0.12.0\n", {"peft": "0.12.0 requirements/train.txt:1"}),
    "requirements.in": ("peft==0.12.0\n", {"peft": "0.12.0 requirements.in:1"}),
    "pyproject.toml": (
        """
        [project]
        name = "x"
        dependencies = [
            "numpy",
            "transformers>=4.44,<4.45",
        ]
        [project.optional-dependencies]
        train = ["trl==0.9.4"]
        [dependency-groups]
        gpu = [{ include-group = "base" }]
        base = ["bitsandbytes==0.43.1"]
        """,
        {"transformers": "4.44.0..4.44.2 pyproject.toml:5", "trl": "0.9.4 pyproject.toml:8", "bitsandbytes": "0.43.1 pyproject.toml:11"},
    ),
    "poetry/pyproject.toml": (
        """
        [tool.poetry.dependencies]
        python = "^3.10"
        transformers = "~4.44"
        peft = { version = "^0.12.0", optional = true }
        trl = { git = "https://github.com/huggingface/trl", tag = "v0.9.4" }
        [tool.poetry.group.gpu.dependencies]
        bitsandbytes = "0.43.1"
        """,
        {
            "transformers": "4.44.0..4.44.2 poetry/pyproject.toml:3",
            "peft": "0.12.0 poetry/pyproject.toml:4",
            "trl": "0.9.4 poetry/pyproject.toml:5",
            "bitsandbytes": "0.43.1 poetry/pyproject.toml:7",
        },
    ),
    "Pipfile": ('[packages]\npeft = "==0.12.0"\ntorch = "*"\n', {"peft": "0.12.0 Pipfile:2"}),
    "setup.cfg": ("[options]\ninstall_requires =\n    numpy\n    peft==0.12.0\n", {"peft": "0.12.0 setup.cfg:4"}),
    "setup.py": (
        """
        from setuptools import setup
        BASE = ["numpy", "peft==0.12.0"]
        setup(name="x", install_requires=BASE + ["trl==0.9.4"], extras_require={"gpu": ["bitsandbytes==0.43.1"]})
        """,
        {"peft": "0.12.0 setup.py:2", "trl": "0.9.4 setup.py:3", "bitsandbytes": "0.43.1 setup.py:3"},
    ),
    "environment.yml": (
        """
        name: x
        dependencies:
          - python=3.11
          - pytorch::pytorch=2.4.0=py3.11_cuda12.1
          - transformers>=4.44,<4.44.1
          - pip:
              - peft==0.12.0
        """,
        {"torch": "2.4.0 environment.yml:4", "transformers": "4.44.0 environment.yml:5", "peft": "0.12.0 environment.yml:7"},
    ),
    "Dockerfile": (
        """
        FROM python:3.11
        RUN apt-get update && pip install --no-cache-dir -i https://example.com \\
            "torch==2.4.0" \\
            peft==0.12.0 && rm -rf /x
        RUN uv pip install --system trl==0.9.4; python3 -m pip install 'accelerate>=1.0,<1.0.1'
        """,
        {"torch": "2.4.0 Dockerfile:3", "peft": "0.12.0 Dockerfile:4", "trl": "0.9.4 Dockerfile:5", "accelerate": "1.0.0 Dockerfile:5"},
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_kind_of_source(name: str) -> None:
    text, expected = SOURCES[name]
    write(name, text)
    folder = "poetry/" if name.startswith("poetry/") else ""
    found = derive(f"{folder}train.py")
    assert known(found) == expected
    assert found.problems == ()


def test_a_script_says_it_itself() -> None:
    write("requirements.txt", "peft==0.4.0\ntrl==0.9.4\n")
    block = """
        #!/usr/bin/env python
        # /// script
        # requires-python = ">=3.11"
        # dependencies = [
        #     "numpy",
        #     "peft==0.12.0",
        # ]
        # ///
        import peft
        """
    assert known(derive(text=block)) == {"peft": "0.12.0 train.py:6", "trl": "0.9.4 requirements.txt:2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!pip install -q -U peft==0.12.0 'trl[vllm]==0.9.4' # c", {"peft": "0.12.0 nb.py:1", "trl": "0.9.4 nb.py:1"}),
        ("x = 1\n%pip install peft==0.12.0", {"peft": "0.12.0 nb.py:2"}),
        ("!uv pip install -q \\\n    peft==0.12.0", {"peft": "0.12.0 nb.py:2"}),
        ("if colab:\n    !pip install peft==0.12.0\nelse:\n    !pip install peft==0.13.0", {"peft": "0.12.0..0.13.0 nb.py:2, nb.py:4"}),
        ("get_ipython().system('pip install -q peft==0.12.0')", {"peft": "0.12.0 nb.py:1"}),
        ("get_ipython().run_line_magic('pip', 'install peft==0.12.0')", {"peft": "0.12.0 nb.py:1"}),
        ("!{sys.executable} -m pip install peft==0.12.0", {"peft": "0.12.0 nb.py:1"}),
        ("!pip install peft", {}),
        ("!pip install git+https://github.com/huggingface/peft.git@v0.12.0", {"peft": "0.12.0 nb.py:1"}),
        ("# run `pip install peft==0.12.0` first\nx = 'pip install trl==0.9.4'", {}),
    ],
)
def test_pip_lines(text: str, expected: dict[str, str]) -> None:
    assert known(derive("nb.py", text)) == expected


def test_the_nearest_source_wins_whole_and_for_each_library_alone() -> None:
    write("requirements.txt", "peft==0.4.0\ntrl==0.9.4\n")
    write("jobs/requirements.txt", "peft>=0.12\n")
    found = derive("jobs/deep/train.py")
    assert {name: text.split()[1] for name, text in known(found).items()} == {"peft": "jobs/requirements.txt:1", "trl": "requirements.txt:2"}
    assert [(said.place, said.used, said.why) for said in found.said if said.library == "peft"] == [
        ("jobs/requirements.txt:1", True, "used"),
        ("requirements.txt:1", False, "the nearer jobs/requirements.txt:1 wins"),
    ]


def test_what_is_nearer_and_not_pinned_wins_too() -> None:
    write("requirements.txt", "peft==0.4.0\n")
    for text in ("peft\n", "peft @ git+https://github.com/huggingface/peft@main\n", "-e ../peft\n"):
        write("jobs/requirements.txt", text)
        found = derive("jobs/train.py")
        assert known(found) == {}
        assert [said.why for said in found.said] == ["names no version", "the nearer jobs/requirements.txt:1 wins"]


def test_in_one_folder_the_lock_comes_first() -> None:
    write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["peft>=0.10"]\n')
    write("environment.yml", "dependencies: [peft=0.4.0]\n")
    write("requirements.txt", "peft==0.11.0\n")
    write("uv.lock", '[[package]]\nname = "peft"\nversion = "0.12.0"\n')
    assert known(derive()) == {"peft": "0.12.0 uv.lock:1"}
    Path("uv.lock").unlink()
    assert known(derive()) == {"peft": "0.11.0 requirements.txt:1"}
    Path("requirements.txt").unlink()
    assert known(derive())["peft"].endswith("pyproject.toml:3")


def test_a_lock_above_says_more_than_a_members_range() -> None:
    write("uv.lock", '[[package]]\nname = "peft"\nversion = "0.12.0"\n')
    write("member/pyproject.toml", '[project]\nname = "x"\ndependencies = ["peft>=0.10"]\n')
    assert known(derive("member/train.py")) == {"peft": "0.12.0 uv.lock:1"}
    write("member/pyproject.toml", '[project]\nname = "x"\ndependencies = ["peft>=0.13,<0.14"]\n')
    assert known(derive("member/train.py"))["peft"].endswith("member/pyproject.toml:3")
    write("member/requirements.txt", "peft>=0.10,<0.13\n")
    assert known(derive("member/train.py")) == {"peft": "0.10.0..0.12.0 member/requirements.txt:1"}


def test_requirements_txt_alone_else_all_the_others() -> None:
    write("requirements-a.txt", "peft==0.11.0\n")
    write("requirements-b.txt", "peft==0.12.0\n")
    assert known(derive()) == {"peft": "0.11.0..0.12.0 requirements-a.txt:1, requirements-b.txt:1"}
    write("requirements.txt", "peft==0.13.0\n")
    assert known(derive()) == {"peft": "0.13.0 requirements.txt:1"}


def test_extras_count_where_nothing_else_names_the_library() -> None:
    extras = '[project.optional-dependencies]\na = ["peft==0.11.0"]\nb = ["peft==0.12.0"]\n'
    write("pyproject.toml", '[project]\nname = "x"\n' + extras)
    assert known(derive()) == {"peft": "0.11.0..0.12.0 pyproject.toml:4, pyproject.toml:5"}
    write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["peft>=0.12,<0.13"]\n' + extras)
    assert known(derive()) == {"peft": "0.12.0 pyproject.toml:3"}


def test_markers_are_tried_on_every_interpreter_and_system() -> None:
    write("requirements.txt", 'peft==0.11.0; python_version < "3.9"\npeft==0.12.0; python_version >= "3.9"\n')
    assert known(derive()) == {"peft": "0.11.0..0.12.0 requirements.txt:1, requirements.txt:2"}
    write("requirements.txt", 'peft==0.11.0; python_version < "3.6"\npeft==0.12.0\n')
    assert known(derive())["peft"].startswith("0.12.0 ")
    assert [said.why for said in derive().said] == ["its marker holds nowhere", "used"]
    write("requirements.txt", 'peft>=0.10; sys_platform == "linux"\npeft<0.13\n')
    assert known(derive())["peft"].startswith("0.4.0..0.12.0 ")
    dependencies = 'dependencies = ["peft==0.11.0; python_version < \'3.9\'", "peft==0.12.0; python_version >= \'3.9\'"]\n'
    Path("requirements.txt").unlink()
    write("pyproject.toml", f'[project]\nname = "x"\nrequires-python = ">=3.10"\n{dependencies}')
    assert known(derive())["peft"].startswith("0.12.0 ")


def test_a_lock_with_several_versions_of_a_library() -> None:
    one = '[[package]]\nname = "torch"\nversion = "{}"\nresolution-markers = ["{}"]\n'
    write("uv.lock", one.format("2.2.2", "sys_platform == 'darwin'") + one.format("2.4.0", "sys_platform != 'darwin'"))
    assert [str(version) for version in derive().known["torch"][0]] == ["2.2.2", "2.4.0"]


def test_files_that_include_others() -> None:
    write("requirements.txt", "-r base/all.txt\n-c constraints.txt\n-r missing.txt\n-r requirements.txt\n-r https://example.com/x.txt\n")
    write("base/all.txt", "-r ../requirements.txt\npeft\ntransformers==4.44.2\n")
    write("constraints.txt", "peft==0.12.0\n")
    found = derive()
    assert known(found) == {"transformers": "4.44.2 base/all.txt:3", "peft": "0.12.0 base/all.txt:2, constraints.txt:1"}
    assert found.problems == ("requirements.txt:3: no such file: missing.txt",)


def test_a_library_is_its_own_pin() -> None:
    write("setup.py", 'VERSION = "0.15.0.dev0"\nfrom setuptools import setup\nsetup(name="peft", version=VERSION, install_requires=["torch>=2.0"])\n')
    assert known(derive("examples/train.py"))["peft"] == "0.15.0.dev0 setup.py:1"


def test_versions_outside_what_is_known() -> None:
    write("requirements.txt", "transformers==4.28.1\npeft<0.1\n")
    found = derive()
    assert known(found) == {"transformers": "4.28.1 requirements.txt:1"}
    assert [said.why for said in found.said if said.library == "peft"] == ["no known release"]


@pytest.mark.parametrize(
    ("name", "raw", "problems", "expected"),
    [
        ("requirements.txt", b"foo bar!!\npeft==0.12.0\n===\n", 2, {"peft"}),
        ("requirements.txt", b"\xff\xfe" + "peft==0.12.0\n".encode("utf-16-le"), 0, {"peft"}),
        ("requirements.txt", b"\xef\xbb\xbfpeft==0.12.0\r\ntrl==0.9.4\r\n", 0, {"peft", "trl"}),
        ("requirements.txt", b"# caf\xe9\npeft==0.12.0\n", 0, {"peft"}),
        ("requirements.txt", b"peft==0.12.0\n\0\0\0\n", 1, {"peft"}),
        ("requirements.txt", b"${NAME}==1\npeft==0.12.0 \\", 0, {"peft"}),
        ("pyproject.toml", b"[project\npeft", 1, set()),
        ("pyproject.toml", b'[project]\nname = "x"\ndependencies = ["peft==0.12.0", "foo bar!!", 3]\n', 1, {"peft"}),
        ("pyproject.toml", b'[project]\ndependencies = "peft"\n[dependency-groups]\na = [{include-group = "a"}]\n', 0, set()),
        ("uv.lock", b'[[package]]\nname = "peft"\nversion = \n[[package]]\nname = "trl"\nversion = "0.9.4"\n', 1, {"trl"}),
        ("uv.lock", b"<<<<<<< HEAD\n", 1, set()),
        ("Pipfile.lock", b'{"default": {\n"peft": {"version": }\n, \n"trl": {"version": "==0.9.4"}}', 1, {"trl"}),
        ("environment.yml", b"dependencies: [\n", 1, set()),
        ("environment.yml", b"- a\n- b\n", 0, set()),
        ("setup.cfg", b"install_requires\n", 1, set()),
        ("setup.py", b"setup(", 1, set()),
        ("setup.py", b"from setuptools import setup\nsetup(install_requires=read('x'), **more)\n", 0, set()),
        ("Dockerfile", b"RUN pip install $X 'peft==0.12.0\nRUN pip install trl==0.9.4\n", 0, {"peft", "trl"}),
    ],
)
def test_what_is_broken_costs_itself_alone(name: str, raw: bytes, problems: int, expected: set[str]) -> None:
    write(name, raw)
    found = derive()
    assert set(found.known) == expected
    assert len(found.problems) == problems
    assert all(line.startswith(name) and "\n" not in line for line in found.problems)


@pytest.mark.skipif(os.name == "nt", reason="POSIX files")
def test_what_is_no_regular_file_is_not_opened(root: Path) -> None:
    os.mkfifo(root / "requirements.txt")
    (root / "pyproject.toml").mkdir()
    (root / "uv.lock").symlink_to("uv.lock")
    write("setup.cfg", "[options]\ninstall_requires = peft==0.12.0\n")
    found = derive()
    assert set(found.known) == {"peft"}
    assert sorted(line.partition(":")[0] for line in found.problems) == ["pyproject.toml", "requirements.txt", "uv.lock"]


def test_large_files_take_time_in_proportion() -> None:
    def seconds(name: str, text: str) -> float:
        write(name, text)
        start = time.perf_counter()
        assert set(derive().known) == {"peft"}
        return time.perf_counter() - start

    line = "package-{}==1.0.{} ; python_version >= '3.9' --hash=sha256:0123456789abcdef\n"
    small, large = ("".join(line.format(i, i) for i in range(n)) + "peft==0.12.0\n" for n in (1250, 10_000))
    assert seconds("requirements.txt", large) < 16 * max(seconds("requirements.txt", small), 0.02)
    Path("requirements.txt").unlink()
    entry = '[[package]]\nname = "package-NUMBER"\nversion = "1.0"\nfiles = [\n' + '    { file = "x", hash = "sha256:0" },\n' * 20 + "]\n\n"
    lock = "".join(entry.replace("NUMBER", str(i)) for i in range(6500)) + '[[package]]\nname = "peft"\nversion = "0.12.0"\n'
    assert len(lock) > 5_000_000
    assert seconds("uv.lock", lock) < 1.0


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_raise(raw: bytes) -> None:
    for name in SOURCES:
        write(name, raw)
    found = derive("poetry/train.py", raw.decode("latin-1"))
    assert all("\n" not in line for line in found.problems)


BAD = st.sampled_from(["foo bar!!", "==1", "-", "--", "@", "peft=>1", "[", "-r", "-c  ", "\\", "# x", "", "-e", "./x y", "a;b;c"])


@given(st.lists(BAD, max_size=6), st.lists(BAD.filter(lambda line: not line.endswith("\\")), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_bad_line_leaves_the_others(before: list[str], after: list[str]) -> None:
    lines = [*before, "", "transformers==4.44.2", *after]
    write("requirements.txt", "\n".join(lines))
    assert str(derive().known["transformers"][0][0]) == "4.44.2"


def test_strangers_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    (tmp_path / ".git").rmdir()
    script = home / "work" / "project" / "jobs"
    script.mkdir(parents=True)
    (home / "requirements.txt").touch()
    assert list(folders(script)) == [script]
    (home / "work" / "project" / "pyproject.toml").touch()
    assert list(folders(script)) == [script, script.parent]
    (home / "pyproject.toml").touch()
    assert list(folders(script)) == [script, script.parent]
    (home / "work" / ".git").mkdir()
    assert list(folders(script)) == [script, script.parent, script.parent.parent]


def test_each_folder_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("requirements.txt", "peft==0.12.0\n")
    seen: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: seen.append(str(path)) or scan(path))
    detector = Detector()
    for number in range(50):
        detector.derive(Path(f"train{number}.py").absolute(), "import peft")
    assert len(seen) == 1


def test_environments(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(folder: Path, name: str, version: str) -> None:
        info = folder / "lib" / "python3.11" / "site-packages" / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")

    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TargetError, match="no environment with the libraries"):
        environment(None, root)
    with pytest.raises(TargetError, match="no such interpreter or environment: nowhere"):
        environment(Path("nowhere"), root)
    (root / "empty").mkdir()
    with pytest.raises(TargetError, match="no Python environment: empty"):
        environment(Path("empty"), root)
    base, own = root / "base", root / ".venv"
    install(base, "torch", "2.4.0")
    install(base, "peft", "0.4.0")
    install(own, "peft", "0.12.0")
    (own / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\ninclude-system-site-packages = true\n", encoding="utf-8")
    assert known(environment(None, root)) == {"peft": "0.12.0 installed in .venv", "torch": "2.4.0 installed in .venv"}
    (own / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\ninclude-system-site-packages = false\n", encoding="utf-8")
    assert known(environment(root / ".venv", root)) == {"peft": "0.12.0 installed in .venv"}
    install(root / "active", "pip", "24.0")
    monkeypatch.setenv("VIRTUAL_ENV", str(root / "active"))
    assert known(environment(None, root)) == {"peft": "0.12.0 installed in .venv"}, "one without the libraries is passed over"
    monkeypatch.setenv("CONDA_PREFIX", str(base))
    assert known(environment(None, root))["torch"] == "2.4.0 installed in base"
