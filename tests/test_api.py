"""The history of the libraries' API: it agrees with what is installed, it is small and quick, and its judgement is that of the releases."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.version import Version

from lora_lint.api import moves
from lora_lint.api.judge import Question, judge
from lora_lint.api.store import LIBRARIES, store
from lora_lint.api.world import Definition, Signature, World, walk_names
from lora_lint.target import Target, releases
from lora_lint.versions import Level

DATA = Path(__file__).resolve().parent.parent / "lora_lint" / "api" / "data"


def world(**versions: str) -> World:
    """The newest releases, but for those that are named."""
    indexes = {library: len(store(library).releases) - 1 for library in LIBRARIES}
    for library, version in versions.items():
        index = store(library).index(Version(version))
        assert index is not None
        indexes[library] = index
    return World(indexes)


def installed() -> World:
    return world(**{library: importlib.import_module(library).__version__ for library in LIBRARIES})


def refuses(function: str, keyword: str) -> Question:
    def question(one: World) -> bool | None:
        accepted = one.accepted(function)
        return None if accepted is None or accepted.open else keyword not in accepted.names

    return question


def target(text: str) -> Target:
    return Target.parse([(text, "--target")])


@pytest.mark.parametrize("library", ["peft", "trl", "accelerate", "bitsandbytes", "transformers"])
def test_keywords_are_those_of_the_installed_signatures(library: str) -> None:
    """What is exported and can be inspected takes by name exactly what the history says, or the history says that it takes more."""
    one, module = installed(), importlib.import_module(library)
    compared = 0
    for name in walk_names(one, library):
        accepted = one.accepted(f"{library}.{name}")
        if accepted is None or "_backend" in name:
            continue
        try:
            parameters = inspect.signature(getattr(module, name)).parameters.values()
        except (AttributeError, ImportError, TypeError, ValueError, RuntimeError):
            continue  # not importable here, or without a signature
        named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
        assert named <= accepted.names | {"self"}, name
        if not takes_any and not accepted.open:
            assert accepted.names <= named, name
        compared += 1
    assert compared > {"bitsandbytes": 2, "accelerate": 20, "peft": 80, "trl": 15, "transformers": 150}[library]


@pytest.mark.parametrize("library", ["peft", "trl", "accelerate"])
def test_exports_are_those_of_the_installed_modules(library: str) -> None:
    one, module = installed(), importlib.import_module(library)
    public = set(getattr(module, "__all__", None) or vars(module))
    missing = {name for name in public if not name.startswith("_") and one.resolve(library, name) is None}
    assert missing == set()


@pytest.mark.parametrize(("cls", "method"), [
    ("transformers.Trainer", "train"), ("transformers.Trainer", "compute_loss"), ("transformers.PreTrainedModel", "save_pretrained"),
    ("peft.PeftModel", "save_pretrained"), ("peft.PeftModel", "add_adapter"), ("accelerate.Accelerator", "prepare"), ("trl.SFTTrainer", "train"),
])  # fmt: skip
def test_methods_have_their_installed_signature(cls: str, method: str) -> None:
    one = installed()
    found, _ = one.path(cls)
    assert isinstance(found, Definition)
    member = one.member(found, method)
    assert isinstance(member, tuple)
    library, _, name = cls.partition(".")
    parameters = inspect.signature(getattr(getattr(importlib.import_module(library), name), method)).parameters.values()
    signature = Signature.parse(member[1]["s"])
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert [(name, default) for name, default, _ in signature.positional] == [(p.name, p.default is not p.empty) for p in positional]
    assert (signature.double_star is not None) == any(p.kind == p.VAR_KEYWORD for p in parameters)


def test_fields_of_a_dataclass_come_from_both_libraries() -> None:
    from trl import SFTConfig

    found, _ = installed().path("trl.SFTConfig")
    assert isinstance(found, Definition)
    fields = installed().fields(found)
    assert fields is not None
    assert set(fields) == set(inspect.signature(SFTConfig.__init__).parameters) - {"self"}


def test_every_release_that_a_target_can_name_is_known() -> None:
    for library in LIBRARIES:
        known = set(store(library).releases)
        assert set(releases(library)) <= known, library


def test_the_data_is_small_and_a_script_s_part_of_it_is_read_quickly() -> None:
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 2_000_000
    code = (
        "from lora_lint.api.store import LIBRARIES, Store; import time; best = 9\n"
        "for _ in range(5):\n"
        "    start = time.perf_counter()\n"
        "    for library in LIBRARIES:\n"
        "        one = Store(library)\n"
        "        one.module(library)\n"
        "        [one.module(f'transformers.{name}') for name in ('trainer', 'training_args', 'modeling_utils') if library == 'transformers']\n"
        "    best = min(best, time.perf_counter() - start)\n"
        "print(best)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert float(done.stdout) < 0.5  # 25 ms on an idle machine


@pytest.mark.parametrize(("function", "keyword", "spec", "level", "words"), [
    ("transformers.TrainingArguments", "evaluation_strategy", "transformers==4.50.3", None, ""),
    ("transformers.TrainingArguments", "evaluation_strategy", "transformers==4.51.0", Level.ALL, "on transformers 4.51.0 (--target)"),
    ("transformers.TrainingArguments", "evaluation_strategy", "transformers>=4.40", Level.SOME, "on transformers >= 4.51.0, which --target"),
    ("transformers.TrainingArguments", "eval_strategy", "transformers>=4.40", Level.SOME, "on transformers < 4.41.0"),
    ("transformers.TrainingArguments", "eval_strategy", "", None, ""),
    ("transformers.TrainingArguments", "evaluation_strategy", "", Level.SOME, "its version is not pinned"),
    ("trl.SFTConfig", "warmup_ratio", "transformers==5.24.0", Level.ALL, "as on transformers >= 5.15.0"),
    ("trl.SFTConfig", "warmup_ratio", "trl>=0.9 transformers>=4.44", Level.SOME, "on transformers >= 5.15.0"),
    ("trl.RewardTrainer", "tokenizer", "trl==0.12.0", Level.ALL, "trl 0.12.0 or >= 0.15.0"),
    ("trl.RewardTrainer", "tokenizer", "trl==0.14.0", None, ""),
    ("trl.SFTTrainer", "tokenizer", "transformers==4.44.2", None, ""),  # the trl of that time took it
    ("peft.LoraConfig", "rank", "", Level.ALL, "peft of any version"),
    ("peft.LoraConfig", "use_dora", "peft==0.8.2", Level.ALL, "as on peft < 0.9.0"),
])  # fmt: skip
def test_a_keyword_is_judged_on_the_target(function: str, keyword: str, spec: str, level: Level | None, words: str) -> None:
    ruling = judge(function.partition(".")[0], refuses(function, keyword), target(spec) if spec else Target.unknown())
    if level is None:
        assert ruling is None
    else:
        assert ruling is not None
        assert ruling.verdict.level is level
        assert words in ruling.verdict.text


def test_passing_over_releases_gives_the_same_answers() -> None:
    """Judging asks a release only where something changed; asking every release gives the same."""
    for function, keyword in (("transformers.TrainingArguments", "no_cuda"), ("trl.SFTConfig", "max_seq_length"), ("trl.DPOTrainer", "beta")):
        library = function.partition(".")[0]
        question = refuses(function, keyword)
        for version in releases(library)[::3]:
            alone = judge(library, question, target(f"{library}=={version}"))
            index = store(library).index(version)
            assert index is not None
            after = store(library).days[index + 1] if index + 1 < len(store(library).days) else "9999"
            partners = {one: max(i for i, day in enumerate(store(one).days) if day <= after) for one in LIBRARIES if one != library}
            assert (alone is not None) == (question(World({library: index, **partners})) is True), (keyword, version)


def test_rows_on_moves_are_true() -> None:
    """Each old name or keyword was there once and is not in the newest release; each new one is there."""
    newest = world()
    for row in moves._rows()["name"]:
        library = row["old"].partition(".")[0]
        assert newest.exists(row["old"]) is False, row["old"]
        assert any(World({**newest.indexes, library: index}).exists(row["old"]) for index in range(len(store(library).releases))), row["old"]
        if "new" in row and row["new"].partition(".")[0] in LIBRARIES:
            ever = range(len(store(row["new"].partition(".")[0]).releases))
            assert any(World({**newest.indexes, library: index}).exists(row["new"]) for index in ever), row["new"]
    for row in moves._rows()["keyword"]:
        library = row["of"].partition(".")[0]
        every = [World({**newest.indexes, library: index}) for index in range(len(store(library).releases))]
        taken = [accepted.names for one in every if (accepted := one.accepted(row["of"])) is not None]
        assert any(row["old"] in names for names in taken), row
        paired = [accepted.names for one in every if (accepted := one.accepted(moves._paired(row["of"]) or row["of"])) is not None]
        if "new" in row:
            assert any(row["new"] in names for names in [*taken, *paired]), row


@pytest.mark.parametrize(("function", "keyword", "new", "into"), [
    ("transformers.TrainingArguments", "evaluation_strategy", "eval_strategy", ""),
    ("transformers.Seq2SeqTrainingArguments", "no_cuda", "use_cpu", ""),
    ("trl.SFTConfig", "evaluation_strategy", "eval_strategy", ""),
    ("trl.SFTTrainer", "dataset_text_field", "dataset_text_field", "trl.SFTConfig"),
    ("trl.DPOTrainer", "beta", "beta", "trl.DPOConfig"),
    ("transformers.AutoModelForCausalLM.from_pretrained", "use_auth_token", "token", ""),
    ("transformers.LlamaForCausalLM.from_pretrained", "use_auth_token", "token", ""),
    ("peft.LoraConfig", "target_module", "target_modules", ""),
])  # fmt: skip
def test_where_a_keyword_went(function: str, keyword: str, new: str, into: str) -> None:
    library = function.partition(".")[0]
    now = world()
    question = refuses(function, keyword)
    before = next((one for i in reversed(range(len(store(library).releases))) if question(one := World({**now.indexes, library: i})) is False), None)
    if function.endswith("from_pretrained"):
        before = world(transformers="4.44.2")
    elif library == "trl" and keyword == "evaluation_strategy":
        before = world(transformers="4.44.2", trl="0.11.4")
    move = moves.of_keyword(function, keyword, before, [now])
    assert move is not None
    assert (move.new, move.into) == (new, into)


def test_starting_reads_no_history() -> None:
    code = "import sys, lora_lint.cli, lora_lint.rules; sys.exit('lora_lint.api.store' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_time_of_a_question_is_short() -> None:
    judge("trl", refuses("trl.SFTConfig", "max_seq_length"), Target.unknown())
    start = time.perf_counter()
    for _ in range(5):
        judge("trl", refuses("trl.SFTConfig", "max_seq_length"), target("trl>=0.9 transformers>=4.40"))
    assert (time.perf_counter() - start) / 5 < 3.0  # 0.04 s on an idle machine
