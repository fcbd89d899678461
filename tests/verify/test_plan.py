"""What a script is run with: the columns that it reads, what its command line lacks, how many GPUs."""

from __future__ import annotations

import ast
import json
import os
import textwrap
from pathlib import Path

import pytest

from lora_lint import recipe
from lora_lint.source import Source
from lora_lint.verify.columns import read_columns
from lora_lint.verify.commandline import command_line
from lora_lint.verify.plan import Datasets, Limits, Options, Plan, plan_of

LOAD = "from transformers import AutoModelForCausalLM\n"


def columns(text: str) -> tuple[list[str], dict[int, list[str]]]:
    found = read_columns(ast.parse(textwrap.dedent(text)))
    return found.anywhere, found.by_line


def completed(text: str, *argv: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command line of a script, and the values that are kept ready for argparse."""
    source = Source(textwrap.dedent(text), "train.py")
    line = command_line(ast.parse(source.text), recipe.build(source), argv)
    return line.argv, line.arguments


def plan(folder: Path, text: str, options: Options | None = None) -> Plan:
    file = folder / "train.py"
    file.write_text(text, encoding="utf-8")
    source = Source.read(file, "train.py")
    return plan_of(source, recipe.build(source), options or Options())


# Columns


def test_columns_are_those_that_a_mapped_function_reads() -> None:
    text = """\
    from datasets import load_dataset
    def tokenize(example):
        text = example["question"] + example.get("context", "")
        return tokenizer(text)
    data = load_dataset("org/data", split="train")
    data = data.map(tokenize, batched=True)
    """
    assert columns(text) == (["question", "context"], {5: ["question", "context"]})


def test_columns_of_two_datasets_are_kept_apart() -> None:
    text = """\
    first = load_dataset("org/a")["train"]
    second = load_dataset("org/b", split="train").filter(lambda row: row["score"] > 3)
    first = first.map(lambda row: {"prompt": row["instruction"]})
    both = concatenate_datasets([first, second])
    both = both.map(lambda row: tokenizer(row["prompt"], row["answer"]))
    """
    assert columns(text)[1] == {1: ["instruction", "answer"], 2: ["score", "answer"]}


def test_columns_that_the_script_makes_itself_are_not_asked_of_the_data() -> None:
    text = """\
    def add(row):
        row["text"] = row["dialogue"] + row["summary"]
        row["length"] = len(row["text"])
        return row
    data = load_dataset("org/data").map(add).map(lambda row: tokenizer(row["text"]))
    data = data.rename_column("label", "labels").sort("length").remove_columns(["id", "labels"])
    """
    assert columns(text)[0] == ["dialogue", "summary", "label", "id"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('for row in load_dataset("x"):\n    print(row["a"], row["b"])', ["a", "b"]),
        ('data = load_dataset("x")\nprint(data["train"]["a"], data["test"][0]["b"], data["train_sft"])', ["a", "b"]),
        ('trainer = SFTTrainer(model, train_dataset=load_dataset("x"), dataset_text_field="quote")', ["quote"]),
        ('trainer = SFTTrainer(model, train_dataset=load_dataset("x"), formatting_func=lambda row: row["q"])', ["q"]),
        ('def one(row):\n    return two(row)\ndef two(item):\n    return item["deep"]\nload_dataset("x").map(one)', ["deep"]),
        ('load_dataset("x").map(partial(f, 3))\ndef f(row):\n    return row["a"]', ["a"]),
        ('class D:\n    def __getitem__(self, i):\n        row = self.data[i]\n        return row["a"], self.data[i]["b"]', ["a", "b"]),
        ('ds = load_dataset("x")\nds.select_columns(["a", "b"]).unique("c")', ["a", "b", "c"]),
        ('Trainer(model, train_dataset=load_from_disk("x"))', ["input_ids", "attention_mask", "labels"]),
        ('class T(Trainer): pass\nT(model, train_dataset=load_from_disk("x"))', ["input_ids", "attention_mask", "labels"]),
        ('data = load_dataset("x").map(tokenize)\nTrainer(model, train_dataset=data["train"])', []),
        ('SFTTrainer(model, train_dataset=load_dataset("x"))', []),
        ('def c(rows):\n    return tokenizer([r["a"] for r in rows])\nDataLoader(load_dataset("x"), collate_fn=c)', ["a"]),
        ('config = yaml["a"]\nos.environ["b"] = "c"', []),
        ("data = load_dataset(name)\ndata.map(tokenize)", []),
        ("def f(): f()\nload_dataset('x').map(f)", []),
        ("def f(row): return f(row)\nload_dataset('x').map(f)", []),
    ],
)
def test_columns_are_found_where_rows_are_read(text: str, expected: list[str]) -> None:
    assert columns(text)[0] == expected


# The command line

PARSER = f"""\
import argparse
{LOAD}
parser = argparse.ArgumentParser()
parser.add_argument("-m", "--model-name", dest="base", OPTION)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.base)
"""


def test_a_required_option_that_names_a_model_gets_a_model() -> None:
    assert completed(PARSER.replace("OPTION", "required=True")) == ((), {"-m": "org/model"})


def test_an_option_without_a_default_that_names_a_model_is_given() -> None:
    assert completed(PARSER.replace("OPTION", "default=None")) == (("-m", "org/model"), {})
    assert completed(PARSER.replace("OPTION", 'default=""')) == (("-m", "org/model"), {})
    assert completed(PARSER.replace("OPTION", 'default="gpt2"')) == ((), {})


def test_the_users_own_words_are_kept_and_not_said_twice() -> None:
    text = PARSER.replace("OPTION", "default=None").replace('dest="base", ', "").replace("args.base", "args.model_name")
    assert completed(text, "--model-name", "gpt2") == (("--model-name", "gpt2"), {})
    assert completed(text, "--model-name=gpt2")[0] == ("--model-name=gpt2",)
    assert completed(text, "--lr", "1")[0] == ("--lr", "1", "-m", "org/model")


def test_the_model_has_the_layers_that_the_script_adapts() -> None:
    text = PARSER.replace("OPTION", "required=True") + 'config = LoraConfig(target_modules=["query_key_value"])\n'
    assert completed(text)[1] == {"-m": "EleutherAI/pythia-70m"}


def test_a_field_of_a_dataclass_that_names_a_model_gets_one() -> None:
    text = f"""\
from dataclasses import dataclass, field
from transformers import HfArgumentParser
{LOAD}
@dataclass
class ModelArguments:
    model_name: str = field(metadata={{"help": "a model"}})
    other: str = "x"
args, = HfArgumentParser(ModelArguments).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained(args.model_name)
"""
    assert completed(text) == ((), {"--model_name": "org/model"})


def test_an_adapter_that_is_loaded_in_any_case_is_given() -> None:
    text = f"""\
import argparse
from peft import PeftModel
{LOAD}
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lora", default=None)
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model = PeftModel.from_pretrained(model, args.lora, is_trainable=True)
    if args.resume:
        model = PeftModel.from_pretrained(model, args.resume)
if __name__ == "__main__":
    main()
"""
    assert completed(text) == (("--lora", "org/adapter"), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def train(base_model: str = "", data_path="x", *, steps: int): pass\nfire.Fire(train)', ("--steps=1",)),
        (
            f'{LOAD}import fire\ndef main(base_model: str = "", n: int = 1):\n    AutoModelForCausalLM.from_pretrained(base_model)\nfire.Fire(main)',
            ("--base_model=org/model",),
        ),
        ("def train(model: str, rate: float, out_dir: str, n: int = 3): pass\ntyper.run(train)", ("org/model", "0.001", "out/run")),
        ('@click.command()\n@click.option("--model", required=True)\n@click.option("--n")\ndef main(model, n): pass', ("--model=org/model",)),
        ('@click.command()\n@click.argument("data")\ndef main(data): pass', ("org/dataset",)),
        ('@app.command()\ndef main(model: str, n: Annotated[int, typer.Option()]): pass', ("org/model",)),
        ("def main(model): pass\nmain('gpt2')", ()),
    ],
)
def test_parameters_of_functions_that_are_command_lines_are_given(text: str, expected: tuple[str, ...]) -> None:
    assert completed(text) == (expected, {})


def test_places_are_not_filled_beside_the_users_words() -> None:
    assert completed("def train(model: str, n: int): pass\ntyper.run(train)", "gpt2", "3")[0] == ("gpt2", "3")


# The plan


def test_a_plan_says_all_in_absolute_paths_and_comes_back_from_json(tmp_path: Path) -> None:
    text = 'from datasets import load_dataset\ndata = load_dataset("org/x").map(lambda row: row["a"])\n'
    options = Options(argv=("--x", "1"), text=tmp_path / "fixed.py", folder=tmp_path, gradcheck=False)
    made = plan(tmp_path, text, options)
    assert (made.script, made.text, made.cwd) == (str(tmp_path / "train.py"), str(tmp_path / "fixed.py"), str(tmp_path))
    assert (made.argv, made.gradcheck, made.lock) == (["--x", "1"], False, True)
    assert made.datasets == Datasets(["a"], {"2": ["a"]})
    assert made.limits == Limits(64, 64, 2)
    written = json.loads(json.dumps(made.to_json()))
    assert written["datasets"] == {"columns": ["a"], "by_line": {"2": ["a"]}}
    assert Plan.from_json(written) == made
    assert "text" not in plan(tmp_path, text).to_json()


def test_an_entry_that_a_plan_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError):
        Plan.from_json({"script": "/x.py", "colour": 1})


def test_two_virtual_gpus_are_used_where_a_finding_asks_for_them_and_none_for_one(tmp_path: Path) -> None:
    def devices(*codes: str, **options: object) -> int:
        return plan(tmp_path, "import torch\n", Options(codes=frozenset(codes), **options)).devices  # type: ignore[arg-type]

    assert (devices(), devices("LL101"), devices("LL301"), devices("LL304", "LL101"), devices("LL301", "LL303")) == (1, 1, 2, 2, 1)
    assert devices("LL301", devices=1) == 1
    assert devices("LL301", device="cuda") == 1


def test_a_run_goes_on_to_the_save_where_a_finding_is_about_saving(tmp_path: Path) -> None:
    assert plan(tmp_path, "", Options(codes=frozenset({"LL101"}))).until == "step"
    assert plan(tmp_path, "", Options(codes=frozenset({"LL406", "LL101"}))).until == "save"


def test_configurations_may_come_from_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HUGGINGFACE_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert plan(tmp_path, "").hub_cache is None
    (tmp_path / "hub").mkdir()
    assert plan(tmp_path, "").hub_cache == str(tmp_path / "hub")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert plan(tmp_path, "").hub_cache == str(tmp_path)


def test_only_a_file_can_be_run() -> None:
    source = Source("import torch\n", "<stdin>")
    with pytest.raises(ValueError, match="<stdin>: only a file can be run"):
        plan_of(source, recipe.build(source), Options())


def test_the_folder_of_a_run_is_where_the_user_is(tmp_path: Path) -> None:
    assert plan(tmp_path, "").cwd == os.getcwd()
