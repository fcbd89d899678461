"""What stands in for models, tokenizers, data, adapters and command lines, seen from scripts that use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lora_lint import recipe
from lora_lint.source import Source
from lora_lint.verify.launch import run_step
from lora_lint.verify.plan import Options, plan_of

Run = Callable[[str], dict[str, Any]]

# Each part prints a line of JSON; one run serves all, since importing the libraries takes most of the time.
SCRIPT = """
import argparse, json, os
import torch
from datasets import load_dataset
from peft import PeftModel
from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer,
                          BitsAndBytesConfig)

parser = argparse.ArgumentParser()
parser.add_argument("--base_model", required=True)
parser.add_argument("--rank", type=int, required=True)
parser.add_argument("--mode", choices=["fast", "slow"], required=True)
args = parser.parse_args()
out = {"arguments": [args.base_model, args.rank, args.mode]}

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
out["mistral"] = [type(model).__name__, sum(p.numel() for p in model.parameters()) < 1_000_000, hasattr(model.model.layers[0].self_attn, "q_proj")]
out["gpt2"] = type(AutoModelForCausalLM.from_pretrained("gpt2").transformer.h[0].attn.c_attn).__name__
out["t5"] = type(AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base")).__name__
out["roberta"] = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=3).config.num_labels
out["local"] = AutoModelForCausalLM.from_pretrained("./mine").config.model_type
quantized = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
out["4 bits"] = type(quantized.model.layers[0].self_attn.q_proj).__name__

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
out["pad"] = [tokenizer.pad_token, AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct").pad_token is not None]
out["template"] = [bool(tokenizer.chat_template), bool(AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct").chat_template)]

rows = load_dataset("some/unknown", split="train")
out["columns"] = [row["question"] != "" and row["answer"] != "" for row in rows.select(range(2))]
out["file"] = [row["text"] for row in load_dataset("json", data_files="own.jsonl", split="train")]
out["map"] = len(rows.map(lambda row: tokenizer(row["question"]))[0]["input_ids"]) > 0

adapted = PeftModel.from_pretrained(model, "someone/an-adapter")
out["adapter"] = [type(adapted).__name__, any("lora_" in name for name, _ in adapted.named_parameters())]
adapted.save_pretrained("saved")
out["saved"] = sorted(os.listdir("saved"))[:1]
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script printed, and the report under ``seen``."""
    import sys

    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "mine").mkdir()
    (folder / "mine" / "config.json").write_text(json.dumps({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}), encoding="utf-8")
    (folder / "own.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n', encoding="utf-8")
    source = Source.read(folder / "train.py")
    plan = plan_of(source, recipe.build(source, None), Options(device="cpu", folder=folder))
    outcome = run_step(plan.to_json(), python=Path(sys.executable), timeout=120)
    assert outcome.seen is not None
    assert outcome.seen["end"] == "finished", outcome.seen.get("exception")
    assert [path.name for path in folder.iterdir() if path.name not in ("train.py", "mine", "own.jsonl")] == [], "nothing is left behind"
    return {**json.loads(outcome.output_tail.splitlines()[-1]), "seen": outcome.seen}


def test_models_are_small_and_of_the_right_architecture(made: dict[str, Any]) -> None:
    assert made["mistral"] == ["MistralForCausalLM", True, True]
    assert made["gpt2"] == "Conv1D"
    assert made["t5"] == "T5ForConditionalGeneration"
    assert made["roberta"] == 3
    assert made["local"] == "qwen2"
    assert made["4 bits"] == "Linear4bit"


def test_tokenizers_have_and_lack_what_the_real_ones_do(made: dict[str, Any]) -> None:
    assert made["pad"] == [None, True]
    assert made["template"] == [False, True]


def test_data_has_the_columns_that_are_read_and_local_files_are_read(made: dict[str, Any]) -> None:
    assert made["columns"] == [True, True]
    assert made["file"] == ["one", "two"]
    assert made["map"] is True


def test_required_arguments_and_missing_adapters_are_made_up(made: dict[str, Any]) -> None:
    name, rank, mode = made["arguments"]
    assert (isinstance(name, str), rank, mode) == (True, 1, "fast")
    assert made["adapter"] == ["PeftModelForCausalLM", True]
    assert made["saved"]


def test_what_was_replaced_is_told(made: dict[str, Any]) -> None:
    told = {(one["what"], one["id"]) for one in made["seen"]["replaced"]}
    assert {("model", "gpt2"), ("tokenizer", "meta-llama/Llama-2-7b-hf"), ("dataset", "some/unknown"), ("adapter", "someone/an-adapter")} <= told
