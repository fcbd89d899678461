"""The twin at work: models, tokenizers, data and adapters that nobody downloads, through the libraries that are installed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from verify.verify_scripts import run_step

needed = ("torch", "transformers", "peft", "datasets", "bitsandbytes")
pytestmark = pytest.mark.skipif(not all(importlib.util.find_spec(name) for name in needed), reason="needs the training libraries")

# Each part says what went wrong in it, so that one process serves many tests.
SCRIPT = """\
import argparse, json, os, traceback
import torch
from datasets import load_dataset
from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model
from transformers import (
    AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer, BitsAndBytesConfig, Trainer,
    TrainingArguments,
)
FAILED = {}

def part(function):
    try:
        function()
    except Exception:
        FAILED[function.__name__] = traceback.format_exc(limit=-3)

@part
def names():
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.float16)
    assert type(model).__name__ == "LlamaForCausalLM" and model.dtype == torch.float16 and model.config.name_or_path == "meta-llama/Llama-2-7b-hf"
    assert sum(p.numel() for p in model.parameters()) < 1e6
    again = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.float16)
    assert torch.equal(model.lm_head.weight, again.lm_head.weight)

@part
def randomness():
    torch.manual_seed(3)
    first = torch.rand(1)
    torch.manual_seed(3)
    AutoTokenizer.from_pretrained("bigscience/bloom-560m")
    assert torch.equal(first, torch.rand(1))

@part
def padding():
    assert AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf").pad_token is None
    assert AutoTokenizer.from_pretrained("google/flan-t5-base").pad_token == "<pad>"
    bert = AutoTokenizer.from_pretrained("bert-base-uncased")
    assert bert("a b")["input_ids"][0] == bert.cls_token_id

@part
def round_trip():
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    text = "Grüße, 世界! def f(x):\\n\\treturn x"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert max(tokenizer(text)["input_ids"]) < AutoConfig.from_pretrained("gpt2").vocab_size

@part
def chats():
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B-Instruct")
    text = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
    assert text.endswith("<|im_start|>assistant\\n") and "<|im_start|>user\\nhi<|im_end|>" in text
    assert AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf").chat_template is None

@part
def heads():
    model = AutoModelForSequenceClassification.from_pretrained("roberta-large", num_labels=3, id2label={0: "a", 1: "b", 2: "c"})
    assert type(model).__name__ == "RobertaForSequenceClassification" and model.config.id2label[2] == "c"
    ids = torch.tensor([[5, 6, 7]])
    assert model(input_ids=ids, labels=torch.tensor([2])).logits.shape == (1, 3)
    t5 = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-xl")
    assert torch.isfinite(t5(input_ids=ids, labels=ids).loss)

@part
def code_of_a_repository():
    try:
        AutoModelForCausalLM.from_pretrained("THUDM/chatglm2-6b", trust_remote_code=True)
    except OSError as error:
        assert "no twin of the model THUDM/chatglm2-6b" in str(error)
    else:
        raise AssertionError("it was replaced")

@part
def adapters():  # asked for before its model is known, when the last one was a T5
    config = PeftConfig.from_pretrained("someone/my-lora")
    base = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
    model = PeftModel.from_pretrained(base, "someone/my-lora")
    assert config.peft_type == "LORA" and not any(p.requires_grad for p in model.parameters())
    assert any("lora_A" in name for name, _ in model.named_parameters())
    assert any(p.requires_grad for p in PeftModel.from_pretrained(base, "someone/my-lora", is_trainable=True).parameters())

@part
def known_data():
    data = load_dataset("glue", "mrpc")
    assert set(data) == {"train", "validation", "test"} and {"sentence1", "sentence2", "label", "idx"} == set(data["train"].column_names)
    assert data["train"].features["label"].num_classes == 2
    assert load_dataset("imdb", split="train")[0]["text"]

@part
def unknown_data():
    data = load_dataset("someone/cases", split="train")
    longer = data.map(lambda row: {"whole": row["symptom"] + row["remedy"]})
    assert "symptom" in longer.column_names and longer[0]["whole"]
    assert len(data.select(range(5000))) <= len(data)

@part
def files():
    rows = json.load(open("data/train.json"))
    assert rows and rows[0]["question"]
    with open("/nowhere/result.txt", "w") as stream:
        stream.write("x")
    assert open("/nowhere/result.txt").read() == "x"
    os.makedirs("/nowhere/deep", exist_ok=True)
    assert os.path.isdir("/nowhere/deep")

@part
def command_line():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base_model", required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--kind", choices=["lora", "dora"], required=True)
    parser.add_argument("--rate", type=float, default=0.5)
    options = parser.parse_args()
    assert (options.base_model, options.rank, options.kind, options.rate) == ("gpt2", 1, "lora", 0.5), options

@part
def arguments():
    given = TrainingArguments("results", bf16=True, report_to="wandb", max_steps=500, gradient_accumulation_steps=16, per_device_train_batch_size=32)
    assert (given.max_steps, given.report_to, given.per_device_train_batch_size) == (1, [], 2)

@part
def reports():
    import wandb
    run = wandb.init(project="x")
    run.log({"loss": 1.0})
    from huggingface_hub import login
    login(token="secret")

@part
def saving():
    model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True))
    model.save_pretrained("/nowhere/adapter")
    assert os.path.isfile("/nowhere/adapter/adapter_config.json")
    again = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("gpt2"), "/nowhere/adapter")
    assert again.peft_config["default"].target_modules == {"c_attn"}

@part
def pictures():
    name = "google/paligemma-3b-pt-224"
    assert AutoConfig.from_pretrained(name).image_token_index == AutoTokenizer.from_pretrained(name).convert_tokens_to_ids("<image>")

@part
def own_configuration():  # it lies beside the script
    assert AutoModelForCausalLM.from_pretrained(os.path.join(os.path.dirname(__file__), "mine")).config.model_type == "qwen2"

@part
def quantized():
    model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
    assert type(model.model.layers[0].self_attn.q_proj).__name__ == "Linear4bit"

with open("failed.json", "w") as stream:
    json.dump(FAILED, stream)
print(json.dumps(FAILED))
"""
PARTS = re.findall(r"@part\ndef (\w+)", SCRIPT)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One process with all parts; what was seen of it."""
    plan = {"arguments": {"--base_model": "gpt2"}, "datasets": {"columns": ["question", "answer"], "by_line": {}}, "lock": True}
    folder = tmp_path_factory.mktemp("twin")
    (folder / "project" / "mine").mkdir(parents=True)
    (folder / "project" / "mine" / "config.json").write_text('{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}', encoding="utf-8")
    found = run_step(folder, SCRIPT, **plan)
    assert found["end"] == "finished", found.get("exception")
    return {**found, "failed": json.loads(found["stdout"].strip().splitlines()[-1])}


@pytest.mark.parametrize("name", PARTS)
def test_what_a_script_loads_is_there(name: str, seen: dict[str, Any]) -> None:
    assert seen["failed"].get(name) is None


def test_what_was_replaced_is_told_with_its_line(seen: dict[str, Any]) -> None:
    models = [entry for entry in seen["replaced"] if entry["what"] == "model" and entry["id"] == "meta-llama/Llama-2-7b-hf"]
    line = SCRIPT.splitlines().index('    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.float16)') + 1
    assert models[0]["line"] == line
    assert models[0]["by"].startswith("random llama, 0.")
    assert {"tokenizer", "dataset", "adapter", "file"} <= {entry["what"] for entry in seen["replaced"]}


def test_what_is_not_done_is_told(seen: dict[str, Any]) -> None:
    off = {entry["what"] for entry in seen["off"]}
    assert {"reporting", "reporting to wandb", "login"} <= off
    assert "unseen" not in seen  # every patch was applied


def test_nothing_is_written_outside(seen: dict[str, Any]) -> None:
    assert {"saving to /nowhere/adapter", "writing /nowhere/result.txt"} <= {entry["what"] for entry in seen["off"]}
    assert not Path("/nowhere").exists()
