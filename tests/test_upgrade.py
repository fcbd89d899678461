"""Moving to other releases: the report, the reverse question, and scripts that the newest libraries take after the fix."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from lora_lint import codes
from lora_lint.api.infer import infer, render
from lora_lint.cli import cli
from lora_lint.config import Settings
from lora_lint.engine import check_and_fix
from lora_lint.recipe import build
from lora_lint.source import Source
from lora_lint.target import Target

NEWEST = "transformers==5.24.0 peft==0.21.2 trl==1.16.0 accelerate==1.15.0"

# What old scripts do, around a model and data that a test can make.
START = """
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
from tokenizers import Tokenizer, models, pre_tokenizers

words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "a": 2, "b": 3}, unk_token="a"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
model = AutoModelForCausalLM.from_config(
    LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2)
)
dataset = Dataset.from_dict({"text": ["a b", "b a"]})
"""
OLD = {
    "trainer": """
from transformers import Trainer, TrainingArguments

args = TrainingArguments("out", evaluation_strategy="no", no_cuda=True, overwrite_output_dir=True, report_to="none")
trainer = Trainer(model=model, args=args, train_dataset=dataset, tokenizer=tokenizer)
""",
    "sft": """
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

args = SFTConfig("out", use_cpu=True, bf16=False, report_to="none", max_seq_length=16)
trainer = SFTTrainer(
    model,
    args=args,
    train_dataset=dataset,
    tokenizer=tokenizer,
    dataset_text_field="text",
    packing=False,
    peft_config=LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"),
)
""",
    "override": """
from transformers import Trainer, TrainingArguments


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss
        return (loss, {}) if return_outputs else loss


tokens = Dataset.from_dict({"input_ids": [[2, 3]], "labels": [[2, 3]]})
trainer = Weighted(model=model, args=TrainingArguments("out", use_cpu=True, report_to="none", max_steps=1, save_strategy="no"), train_dataset=tokens)
trainer.train()
""",
    "int8": """
from peft import LoraConfig, get_peft_model, prepare_model_for_int8_training

model = prepare_model_for_int8_training(model)
model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))
""",
    "dictionary": """
import transformers

options = {"output_dir": "out", "evaluation_strategy": "no", "group_by_length": True, "use_cpu": True, "report_to": "none"}
args = transformers.Seq2SeqTrainingArguments(**options)
""",
    "names": """
from transformers import AutoModelForVision2Seq, is_torch_tpu_available
from trl import set_seed

set_seed(1)
""",
}


def fixed(text: str) -> str:
    settings = Settings(frozenset(codes.names()), Target.parse([(NEWEST, "--target")]))
    result = check_and_fix(Source.from_bytes(text.encode(), "train.py"), settings)
    assert result.source is not None
    return result.source.text


def test_old_scripts_are_accepted_by_the_newest_libraries_after_the_fix(tmp_path: Path) -> None:
    """Each fails as it stands and runs as it is fixed: imports, configurations and the constructors of trainers, one with a step of training."""
    for name, text in OLD.items():
        (tmp_path / f"{name}_old.py").write_text(START + text)
        (tmp_path / f"{name}_new.py").write_text(fixed(START + text))
    run = """
        import contextlib, io, json, runpy, sys
        import datasets, peft, transformers, trl
        ends = {}
        for name in sys.argv[1:]:
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    runpy.run_path(name + ".py")
                    ends[name] = "ran"
                except Exception as error:
                    ends[name] = type(error).__name__ + ": " + str(error)
        print(json.dumps(ends))
    """
    names = [f"{name}_{age}" for name in OLD for age in ("old", "new")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(run), *names], cwd=tmp_path, capture_output=True, text=True, timeout=280
    )
    ends = json.loads(done.stdout.splitlines()[-1])
    for name in OLD:
        assert ends[f"{name}_new"] == "ran", (name, ends[f"{name}_new"])
        assert ends[f"{name}_old"].startswith(("TypeError", "ImportError")), (name, ends[f"{name}_old"])


def test_report_names_what_breaks_and_the_command_that_cures_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==4.44.2\n")
    (tmp_path / "train.py").write_text('from transformers import TrainingArguments\nTrainingArguments("out", evaluation_strategy="no")\n')
    (tmp_path / "fine.py").write_text('from transformers import TrainingArguments\nTrainingArguments("out", max_steps=3)\n')
    done = CliRunner().invoke(cli, ["upgrade-report", ".", "--to", "transformers==5.23.0", "--output-format", "concise"])
    assert done.exit_code == 1
    assert "train.py:2:26: error LL702" in done.output
    assert "1 finding in 1 file on transformers==5.23.0; `lora-lint --fix --target transformers==5.23.0` applies 1 safe fix." in done.output
    quiet = CliRunner().invoke(cli, ["upgrade-report", "fine.py", "--to", "transformers==5.23.0"])
    assert (quiet.exit_code, "Nothing is known to break" in quiet.output) == (0, True)


def test_report_leaves_out_what_fails_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==5.0.0\n")
    (tmp_path / "train.py").write_text(
        'from transformers import TrainingArguments\nTrainingArguments("a", no_cuda=True)\nTrainingArguments("b", warmup_ratio=0.1)\n'
    )
    done = CliRunner().invoke(cli, ["upgrade-report", ".", "--to", "transformers==5.24.0", "--output-format", "json"])
    assert [(f["code"], f["location"]["row"]) for f in json.loads(done.output)] == [("LL702", 3)]


@pytest.mark.parametrize(("to", "words"), [("transformers", ""), ("transformers<1", "no known release"), ("torchy==1", "unknown target library")])
def test_a_version_that_cannot_be_used_is_one_line(to: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("from transformers import Trainer\n")
    done = CliRunner().invoke(cli, ["upgrade-report", ".", "--to", to])
    assert done.exit_code == (2 if words else 0)
    assert words in done.output
    assert "Traceback" not in done.output


def inferred(text: str) -> str:
    return render(infer(build(Source.from_bytes(textwrap.dedent(text).encode(), "train.py"), None)))


def test_versions_are_the_intersection_of_what_the_script_uses() -> None:
    said = inferred("""
        from peft import LoraConfig, prepare_model_for_int8_training
        from transformers import AdamW, Trainer, TrainingArguments

        args = TrainingArguments("out", eval_strategy="no", use_cpu=True)
        config = LoraConfig(r=8, use_dora=True)
    """)
    assert "transformers  4.41.0 to 4.49.0\n" in said
    assert "`eval_strategy` of TrainingArguments (line 5) fails before 4.41.0" in said
    assert "`transformers.AdamW` (line 3) fails from 4.50.0 on" in said
    assert "peft          0.9.0\n" in said
    assert "of one time: pip install" not in said.replace("of one time: pip install transformers==", "")


def test_a_script_that_no_release_takes() -> None:
    said = inferred("""
        from transformers import AdamW, TrainingArguments

        args = TrainingArguments("out", train_sampling_strategy="group_by_length")
    """)
    assert "transformers  no release takes all of it\n" in said
    assert "of one time" not in said


def test_a_keyword_of_another_library_s_class_binds_that_library() -> None:
    said = inferred("""
        from trl import SFTConfig

        SFTConfig("out", warmup_ratio=0.1, max_length=512)
    """)
    assert "transformers  4.31.0 to 5.14.1\n" in said
    assert "`max_length` of SFTConfig (line 4) fails on 0.9.2 to 0.15.2" in said


def test_guarded_imports_bind_nothing() -> None:
    said = inferred("try:\n    from transformers import AdamW\nexcept ImportError:\n    pass\n")
    assert said.splitlines() == ["transformers  any supported release", "of one time: pip install transformers==5.24.0"]


def test_a_module_that_was_not_read_binds_nothing() -> None:
    assert "fails" not in inferred("from transformers.testing_utils import CaptureLogger\nimport accelerate.test_utils.testing\n")


def test_infer_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("from transformers import AdamW\n")
    done = CliRunner().invoke(cli, ["target", str(file), "--infer", "--output-format", "json"])
    data = json.loads(done.output)
    assert data["libraries"]["transformers"]["versions"][-1] == "4.49.0"
    assert data["libraries"]["transformers"]["bounds"][0] == {"what": "transformers.AdamW", "row": 1, "fails": [["4.50.0", "5.24.0"]]}
    file.write_text("import (\n")
    broken = CliRunner().invoke(cli, ["target", str(file), "--infer"])
    assert (broken.exit_code, len(broken.output.splitlines())) == (2, 1)
