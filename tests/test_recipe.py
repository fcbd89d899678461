"""The interpreter: real shapes of code end at the right lives, with the right events in the right order."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from lora_lint.project import Project
from lora_lint.recipe import build, render_html, render_mermaid, render_text, to_json
from lora_lint.recipe.conditions import describe
from lora_lint.recipe.machine import Recipe
from lora_lint.source import Source

HEAD = """\
import torch
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments
"""


def recipe(code: str, head: str = HEAD) -> Recipe:
    return build(Source.from_bytes((head + textwrap.dedent(code)).encode(), "script.py"))


def kinds(made: Recipe, number: int = 0) -> list[str]:
    return [e.kind for e in made.models[number].events]


def test_a_new_name_an_alias_and_an_ignored_result_are_one_life() -> None:
    made = recipe("""
        base = AutoModelForCausalLM.from_pretrained("x")
        get_peft_model(base, LoraConfig())
        other = base
        other.enable_input_require_grads()
        """)
    assert len(made.models) == 1
    assert kinds(made) == ["loaded", "wrapped", "input_grads"]


def test_helpers_closures_classes_and_tuples_are_followed() -> None:
    made = recipe("""
        class Job:
            def __init__(self, name):
                self.model, self.tok = self.load(name)
            def load(self, name):
                def inner(m):
                    return get_peft_model(m, LoraConfig())
                return inner(AutoModelForCausalLM.from_pretrained(name)), AutoTokenizer.from_pretrained(name)
            def fit(self):
                Trainer(model=self.model, args=TrainingArguments("o")).train()
        Job("x").fit()
        """)
    assert kinds(made) == ["loaded", "wrapped", "given_to_trainer", "trained"]


def test_guards_of_one_value_go_together() -> None:
    made = recipe("""
        import argparse
        ap = argparse.ArgumentParser()
        ap.add_argument("--bits", type=int, default=4)
        args = ap.parse_args()
        config = BitsAndBytesConfig(load_in_4bit=args.bits == 4, load_in_8bit=args.bits == 8) if args.bits in (4, 8) else None
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=config)
        if args.bits in (4, 8):
            model = prepare_model_for_kbit_training(model)
        """)
    found = {e.bits: describe(e.when) for e in made.models[0].all("quantized")}
    assert set(found) == {4, 8}
    assert "args.bits == 4" in found[4]
    (prepared,) = made.models[0].all("prepared")
    assert describe(prepared.when) == "args.bits in (4, 8)"


def test_keywords_through_dictionaries_filled_in_branches() -> None:
    made = recipe("""
        def keywords(big):
            kw = {"device_map": "auto"}
            if big:
                kw["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
            return kw
        def main(big: bool = False):
            AutoModelForCausalLM.from_pretrained("x", **keywords(big))
        main()
        main(True)
        """)
    assert [list(x.all("quantized")) != [] for x in made.models] == [False, True]


def test_a_function_that_nobody_calls_is_read_with_unknown_arguments() -> None:
    made = recipe("""
        def train(name, quant=True):
            model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=quant))
        """)
    (event,) = made.models[0].all("quantized")
    assert describe(event.when) == "quant"


def test_hf_argument_parser_gives_declared_defaults() -> None:
    made = recipe(
        """
        from dataclasses import dataclass, field
        from transformers import HfArgumentParser
        @dataclass
        class Options:
            qlora: bool = field(default=True)
        opts, targs = HfArgumentParser((Options, TrainingArguments)).parse_args_into_dataclasses()
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=BitsAndBytesConfig(load_in_4bit=True) if opts.qlora else None)
        """
    )
    (event,) = made.models[0].all("quantized")
    assert describe(event.when) == "Options.qlora"


@pytest.mark.parametrize("call", ["fire.Fire(main)", "typer.run(main)", "main()"])
def test_entries(call: str) -> None:
    made = recipe(f"""
        import fire, typer
        def main(name="x"):
            AutoModelForCausalLM.from_pretrained(name).eval()
        if __name__ == "__main__":
            {call}
        """)
    assert kinds(made) == ["loaded", "mode"]


def test_a_name_of_the_project_is_not_the_library(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "tools.py").write_text(HEAD + "def prepare(model):\n    return get_peft_model(model, LoraConfig())\n")
    script = tmp_path / "train.py"
    script.write_text(HEAD + "from tools import prepare\nmodel = prepare(AutoModelForCausalLM.from_pretrained('x'))\n")
    made = build(Source.read(str(script)), Project(tmp_path))
    assert kinds(made) == ["loaded", "wrapped"]
    own = recipe("""
        def prepare_model_for_kbit_training(model):
            return model
        model = prepare_model_for_kbit_training(AutoModelForCausalLM.from_pretrained("x"))
        """)
    assert "prepared" not in kinds(own)


def test_what_we_cannot_see_is_recorded_as_an_escape() -> None:
    made = recipe("""
        from elsewhere import patch
        model = AutoModelForCausalLM.from_pretrained("x")
        patch(model)
        """)
    assert kinds(made) == ["loaded", "escaped"]


@pytest.mark.parametrize(
    ("expression", "cut_off"),
    [
        ("out.loss", False),
        ("out.loss.detach()", True),
        ("out['loss'].data * 2", True),
        ("torch.tensor(out.loss.item())", True),
        ("out.logits.argmax(-1).float().mean()", True),
        ("out.loss + out.loss.detach()", False),
        ("sum([out.loss, aux(batch)])", False),
    ],
)
def test_tensor_flow(expression: str, cut_off: bool) -> None:
    made = recipe(f"""
        def aux(b):
            return model(**b).loss
        model = AutoModelForCausalLM.from_pretrained("x")
        for batch in torch.utils.data.DataLoader([]):
            out = model(**batch)
            loss = {expression}
            loss.backward()
        """)
    assert [b.tensor.cut_off for b in made.backwards] == [cut_off]


@pytest.mark.parametrize(
    "context",
    ["torch.no_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)", "quiet()"],
)
def test_grad_modes(context: str) -> None:
    made = recipe(f"""
        import contextlib
        @contextlib.contextmanager
        def quiet():
            with torch.no_grad():
                yield
        model = AutoModelForCausalLM.from_pretrained("x")
        def step(batch):
            with {context}:
                return model(**batch).loss
        step({{}}).backward()
        """)
    assert made.backwards[0].tensor.cut_off


def test_call_chains_that_would_explode_are_bounded() -> None:
    functions = "\n".join(f"def f{i}(m):\n    f{i + 1}(m)\n    return f{i + 1}(m)" for i in range(40))
    made = build(
        Source.from_bytes(
            (HEAD + functions + "\ndef f40(m):\n    return m.train()\nf0(AutoModelForCausalLM.from_pretrained('x'))\n").encode(), "s.py"
        )
    )
    assert made.gave_up
    assert "incomplete" in render_text(made)


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return f(x)\nf(1)",
        "class A:\n    def __call__(self): return self()\nA()()",
        "while True: x = x + [x]",
        "f = lambda f: f(f)\nf(f)",
        "x = {}\nx['x'] = x\nfor k, v in x.items(): v = x",
        "import a as b, c.d\nfrom . import q\nfrom .. import *",
        "match x:\n    case [1, *r]: pass\n    case {'a': b}: pass\n    case A(c=1) | None: pass\n    case _: pass",
        "async def f():\n    async with a as b:\n        async for c in d: await c\n        return [x async for x in y]",
        "a, *b = *c, (d := 1)\nprint(f'{a!r:>{b}}', *b, **{})\ndel a, b[0], c.d\nglobal e",
        "try: pass\nexcept* ValueError as g: raise\nelse: pass\nfinally: pass",
    ],
)
def test_any_python_is_read(code: str) -> None:
    made = build(Source.from_bytes((HEAD + code + "\n").encode(), "s.py"))
    assert to_json(made) == to_json(build(Source.from_bytes((HEAD + code + "\n").encode(), "s.py")))


def test_recipe_in_words() -> None:
    made = recipe("""
        model = AutoModelForCausalLM.from_pretrained("x", device_map="auto")
        model = get_peft_model(model, LoraConfig())
        Trainer(model=model, args=TrainingArguments("o", gradient_checkpointing=True)).train()
        """)
    assert render_text(made).splitlines() == [
        "model 0 (AutoModelForCausalLM) model, from line 5",
        "      5  loaded, device_map='auto'",
        "      6  adapters attached by get_peft_model",
        "      7  given to a trainer",
        "      7  gradient checkpointing on by trainer",
        "      7  trained by trainer",
    ]


TWO_MODELS = """
teacher = AutoModelForCausalLM.from_pretrained("a<b>")
student = get_peft_model(AutoModelForCausalLM.from_pretrained("b"), LoraConfig())
if flag:
    student.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW(student.parameters())
with torch.no_grad():
    target = teacher(**x).logits
(student(**x).logits - target).pow(2).mean().backward()
"""


def test_drawings_show_each_model_and_every_event_once() -> None:
    made = build(Source.from_bytes((HEAD + TWO_MODELS).encode(), "<s>.py"))
    for drawing, arrow in ((render_mermaid(made), "gradient ==> m"), (render_html(made), "<th>the step</th>")):
        assert drawing.count("gradient checkpointing on") == 1
        assert drawing.count("adapters attached by get_peft_model") == 1
        assert drawing.count("if flag") == 1
        assert drawing.count("no gradient gets here") == 1
        assert "teacher" in drawing
        assert arrow in drawing
    page = render_html(made)
    assert "&lt;s&gt;.py" in page
    assert "a&lt;b&gt;" in page
    assert "http" not in page, "the page needs nothing from elsewhere"


def test_a_drawing_of_nothing() -> None:
    made = build(Source.from_bytes(b"x = 1\n", "s.py"))
    assert render_mermaid(made) == "flowchart TB\n"
    assert "No model in sight." in render_html(made)


def test_a_global_that_is_bound_nowhere() -> None:
    text = b"import peft\n\n\ndef show():\n    global root\n    print(root)\n    del root\n\n\nshow()\n"
    assert build(Source.from_bytes(text, "train.py"), None).models == []
