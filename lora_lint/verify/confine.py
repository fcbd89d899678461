"""What the child of ``--verify`` is given and where its limits lie: scratch folder, environment, amounts.

A seat belt against accidents of ordinary scripts, not a sandbox for hostile code. ``supervise`` puts it on.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

# Handed on as they are: where programs and libraries lie, the language, which devices may be seen.
_KEPT = frozenset(
    "PATH LANG LANGUAGE TZ LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH PYTHONPATH PYTHONHOME PYTHONUTF8 PYTHONIOENCODING "
    "VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION "
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_HOME CUDA_PATH CUDA_MODULE_LOADING BNB_CUDA_VERSION NVIDIA_VISIBLE_DEVICES "
    "NVIDIA_DRIVER_CAPABILITIES ROCM_PATH ROCM_HOME HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HSA_OVERRIDE_GFX_VERSION "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PROGRAMFILES PROGRAMDATA OS".split()
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASS|PWD|CRED|AUTH|COOKIE|PRIVATE|SIGNATURE|DSN", re.IGNORECASE)
_ASKED_FOR = re.compile(r"""environ\[\s*["'](\w+)["']\s*\]""")
_ADDRESS_WITH_PASSWORD = re.compile(r"://[^/\s]*:[^/\s]*@")

# Below the home folder. `.env` is not among them: scripts read it without meaning harm, and nothing that they read can leave.
_SECRET_PATHS = (
    ".ssh .aws .azure .gnupg .kube .netrc _netrc .git-credentials .pypirc .npmrc .docker/config.json .config/gcloud .config/gh "
    ".config/huggingface .huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .kaggle .modelscope/credentials .password-store "
    ".bash_history .zsh_history .python_history"
).split()


@dataclass(frozen=True)
class Limits:
    """``memory``, ``file`` (one file) and ``disk`` (the scratch folder) in bytes, ``cpu`` in seconds over all threads, counts otherwise."""

    memory: int
    file: int
    disk: int
    cpu: int
    open_files: int
    processes: int

    @classmethod
    def of(cls, timeout: float, memory_gb: float) -> Limits:
        cores = os.cpu_count() or 1
        return cls(int(memory_gb * 2**30), 2**30, 4 * 2**30, int(timeout * cores) + 10, 4096, 256 + 8 * cores)

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def default_memory_gb(*, device: bool = False) -> float:
    """8 GB, with a real ``device`` 32 GB (its driver sets aside much on the host); never more than three quarters of the machine."""
    wanted = 32.0 if device else 8.0
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (AttributeError, ValueError, OSError):
        return wanted
    return min(wanted, machine * 0.75) if machine > 0 else wanted


def make_scratch() -> Path:
    """A new folder with ``work`` (the current folder of the child), ``home``, ``tmp`` and ``out`` (what the parent reads)."""
    root = Path(tempfile.mkdtemp(prefix="lora-lint-")).resolve()
    for name in ("work", "home", "tmp", "out"):
        (root / name).mkdir()
    return root


def remove(folder: str | os.PathLike[str]) -> None:
    """Remove a folder with all that is in it, also what was made read-only; silent where it is gone already or cannot be removed."""
    for _ in range(3):  # what the child started may still write for a moment
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        _open_up(os.fspath(folder))


def _open_up(folder: str) -> None:
    """Let the owner change what is in a folder. Nothing above it, and nothing that a link points to, is touched."""
    _allow_owner([folder])
    for base, folders, files in os.walk(folder):  # a folder is looked into after it was opened up
        _allow_owner([os.path.join(base, name) for name in (*folders, *(files if os.name == "nt" else ()))])


def _allow_owner(places: list[str]) -> None:
    for place in places:
        with contextlib.suppress(OSError):
            if not os.path.islink(place):
                os.chmod(place, stat.S_IRWXU)


def environment(root: Path, given: Mapping[str, str], script: str = "", *, hide_devices: bool = False) -> dict[str, str]:
    """The child's variables, of those ``given`` and of our own.

    An allow-list passes; then what ``script`` (its text) names itself, except values that look like secrets: of those the name is kept, so
    that ``os.environ["HF_TOKEN"]`` goes on (also where there is none), and the value is not.
    """
    passed = {name: value for name, value in given.items() if name.upper() in _KEPT or name.startswith("LC_")}
    words = set(re.findall(r"\w+", script))
    for name, value in given.items():
        if name in words and name not in passed:
            withheld = _SECRET.search(name) or _ADDRESS_WITH_PASSWORD.search(value)
            passed[name] = "withheld" if withheld else value
    for name in _ASKED_FOR.findall(script):
        if _SECRET.search(name):
            passed.setdefault(name, "withheld")
    home, cache = root / "home", root / "home" / ".cache"
    if os.name == "posix" and "PYTHONUSERBASE" not in passed:  # else the packages in the user's home are lost with HOME
        passed["PYTHONUSERBASE"] = given.get("PYTHONUSERBASE") or os.path.join(given.get("HOME") or os.path.expanduser("~"), ".local")
    own: dict[str, object] = {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home,
        "LOCALAPPDATA": home,
        "TMPDIR": root / "tmp",
        "TEMP": root / "tmp",
        "TMP": root / "tmp",
        "XDG_CACHE_HOME": cache,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_STATE_HOME": home / ".local" / "state",
        "HF_HOME": cache / "huggingface",
        "TORCH_HOME": cache / "torch",
        "TORCHINDUCTOR_CACHE_DIR": cache / "inductor",
        "TRITON_CACHE_DIR": cache / "triton",
        "CUDA_CACHE_PATH": cache / "cuda",
        "NUMBA_CACHE_DIR": cache / "numba",
        "MPLCONFIGDIR": cache / "matplotlib",
        "MPLBACKEND": "Agg",
        "WANDB_DIR": root / "tmp",
        "WANDB_MODE": "disabled",
        "COMET_MODE": "disabled",
        "DO_NOT_TRACK": 1,
        "HF_HUB_OFFLINE": 1,
        "TRANSFORMERS_OFFLINE": 1,
        "HF_DATASETS_OFFLINE": 1,
        "HF_HUB_DISABLE_TELEMETRY": 1,
        "TOKENIZERS_PARALLELISM": "false",
        "TORCHDYNAMO_DISABLE": 1,
        "OMP_NUM_THREADS": 2,
        "MKL_NUM_THREADS": 2,
        "OPENBLAS_NUM_THREADS": 2,
        "RAYON_NUM_THREADS": 2,
        "PYTHONDONTWRITEBYTECODE": 1,  # compiled files that are there are still read
        "PYTHONUNBUFFERED": 1,
        "PYTHONFAULTHANDLER": 1,
        "PYTHONHASHSEED": 0,
        "NO_COLOR": 1,
    }
    if hide_devices:
        own.update(CUDA_VISIBLE_DEVICES="", HIP_VISIBLE_DEVICES="", ROCR_VISIBLE_DEVICES="")
    return {**passed, **{name: str(value) for name, value in own.items()}}


def secrets(given: Mapping[str, str]) -> list[str]:
    """Files and folders that the child does not read: keys, tokens and passwords of the user."""
    homes = {given.get("HOME") or os.path.expanduser("~"), os.path.expanduser("~")}
    found = [os.path.join(home, *path.split("/")) for home in sorted(homes) for path in _SECRET_PATHS]
    if "HF_HOME" in given:
        found += [os.path.join(given["HF_HOME"], name) for name in ("token", "stored_tokens")]
    found += [given[name] for name in ("HF_TOKEN_PATH", "NETRC", "KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS") if given.get(name)]
    return [*found, "/etc/shadow", "/etc/gshadow", "/run/secrets", "/var/run/secrets"]
