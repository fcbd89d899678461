"""Launch lines: which script a shell text starts, and in how many processes; what they show of a script beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lora_lint import codes
from lora_lint.config import Settings
from lora_lint.engine import Projects, check_file
from lora_lint.findings import Finding
from lora_lint.launches import launches, same_script, settings

TRAIN = """from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("data")).train()
"""


@pytest.mark.parametrize(
    ("line", "processes"),
    [
        ("torchrun --nproc_per_node=4 train.py", True),
        ("torchrun --standalone --nproc-per-node $GPUS train.py --lr 1e-4", True),
        ("torchrun train.py", False),
        ("torchrun --nproc_per_node 1 train.py", False),
        ("torchrun --nnodes 2 --nproc_per_node 1 train.py", True),
        ("CUDA_VISIBLE_DEVICES=0,1 python -m torch.distributed.launch --nproc_per_node 2 train.py", True),
        ("deepspeed --num_gpus=8 train.py", True),
        ("deepspeed train.py --deepspeed ds.json", None),
        ("deepspeed --include localhost:0 train.py", False),
        ("deepspeed --include localhost:0,1 train.py", True),
        ("accelerate launch train.py", None),
        ("accelerate launch --num_processes 2 train.py", True),
        ("accelerate launch --multi_gpu train.py", True),
        ("nohup accelerate launch \\\n  --num_processes 2 \\\n  train.py > log 2>&1 &", True),
    ],
)
def test_processes(line: str, processes: bool | None) -> None:
    (launch,) = launches(line)
    assert launch.script == "train.py"
    assert launch.processes is processes


@pytest.mark.parametrize(
    "text",
    ["python train.py", "# torchrun is needed for several processes", "pip install deepspeed", "echo torchrun", "", "torchrun 'train.py"],
)
def test_what_starts_no_script_for_sure(text: str) -> None:
    assert [launch for launch in launches(text) if launch.processes] == []


def test_arguments_of_the_script() -> None:
    (launch,) = launches("deepspeed train.py --deepspeed ds/zero3.json --bf16 True --gradient_checkpointing --lora_r=8 && echo done --x y")
    assert launch.arguments == {"deepspeed": "ds/zero3.json", "bf16": "True", "gradient_checkpointing": "", "lora_r": "8"}


@pytest.mark.parametrize(
    ("written", "same"),
    [("train.py", True), ("./train.py", True), ("src/train.py", True), ("$ROOT/src/train.py", True), ("other/train.py", False), ("train2.py", False)],
)
def test_same_script(written: str, same: bool) -> None:
    assert same_script(written, "train.py", "/home/me/project/src") is same


def test_settings_of_accelerate() -> None:
    text = "machine_rank: 0\ndeepspeed_config:\n  zero_stage: 3  # shards\n  zero3_init_flag: 'true'\ndistributed_type: DEEPSPEED\n"
    read = settings(text)
    assert (read["zero_stage"], read["zero3_init_flag"], read["distributed_type"]) == ("3", "true", "DEEPSPEED")


def found(folder: Path, **files: str) -> list[Finding]:
    """The findings on a script with these files beside it; ``__`` in a name is a dot."""
    (folder / "pyproject.toml").write_text("")
    for name, text in {"train__py": TRAIN, **files}.items():
        (folder / name.replace("__", ".")).write_text(text)
    result = check_file(folder / "train.py", "train.py", Settings(frozenset(codes.names())), Projects())
    assert result.error is None
    return [finding for finding in result.findings if finding.code != "LL900"]


def test_a_script_that_nothing_starts_is_quiet(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_shell_script_beside_it(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, run__sh="#!/bin/bash\ntorchrun --nproc_per_node 4 \\\n    train.py --output_dir out\n")
    assert finding.code == "LL307"
    assert finding.severity.name == "WARNING"
    assert "run.sh starts it by torchrun" in finding.message


def test_a_shell_script_for_another_one(tmp_path: Path) -> None:
    assert found(tmp_path, run__sh="torchrun --nproc_per_node 4 eval.py\n", notes__txt="torchrun --nproc_per_node 4 train.py") == []


def test_a_comment_in_its_head(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, train__py="# usage: see below\n# torchrun --nproc_per_node 4 train.py\n" + TRAIN)
    assert finding.code == "LL307"


def test_zero3_by_the_launch_line(tmp_path: Path) -> None:
    zero = '{"zero_optimization": {"stage": 3}}'
    codes_found = {f.code for f in found(tmp_path, run__sh="deepspeed train.py --deepspeed zero3.json", zero3__json=zero)}
    assert codes_found == {"LL509", "LL511"}


def test_a_broken_configuration_says_nothing_of_stages(tmp_path: Path) -> None:
    assert {f.code for f in found(tmp_path, run__sh="deepspeed train.py --deepspeed zero3.json", zero3__json="{")} <= {"LL307"}


def test_a_configuration_of_accelerate(tmp_path: Path) -> None:
    line = "accelerate launch --config_file acc.yaml train.py"
    assert found(tmp_path, run__sh=line, acc__yaml="distributed_type: 'NO'\nnum_processes: 1\n") == []
    assert [f.code for f in found(tmp_path, run__sh=line, acc__yaml="distributed_type: MULTI_GPU\nnum_processes: 4\n")] == ["LL307"]
    assert found(tmp_path, run__sh=line, acc__yaml="distributed_type: FSDP\nnum_processes: 4\n") == []


def test_nothing_outside_the_project_is_read(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "zero3.json").write_text('{"zero_optimization": {"stage": 3}}')
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 4 train.py\n")
    os.symlink(tmp_path / "run.sh", inside / "run.sh")
    assert found(inside) == []
    (inside / "run.sh").unlink()
    assert "LL509" not in {f.code for f in found(inside, run__sh="deepspeed train.py --deepspeed ../zero3.json")}


def test_strange_neighbours_raise_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"\xff\xfe torchrun --nproc_per_node 4 train.py")
    (tmp_path / "b.sh").mkdir()
    os.symlink(tmp_path / "c.sh", tmp_path / "c.sh")
    (tmp_path / "huge.sh").write_bytes(b"#" * (1 << 20))
    found(tmp_path, run__sh='torchrun --nproc_per_node "4 train.py')
