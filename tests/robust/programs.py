"""Programs made by a grammar: valid Python for the most part, about models, adapters and trainers, senseless in every other way."""

from __future__ import annotations

import random
from collections.abc import Iterator

NAMES = ("model", "base", "peft_model", "loss", "out", "x", "self", "args", "trainer", "config", "tokenizer", "f", "A", "opt")
ATTRIBUTES = (
    "to", "cuda", "train", "eval", "parameters", "backward", "requires_grad_", "requires_grad", "config", "generate", "loss", "logits", "detach", "append",
    "gradient_checkpointing_enable", "enable_input_require_grads", "merge_and_unload", "named_parameters", "items", "get", "state_dict", "step", "device",
    "save_pretrained", "__class__", "hf_device_map", "float", "half", "update", "format", "join", "base_model", "load_adapter", "add_adapter",
)  # fmt: skip
FUNCTIONS = (
    "get_peft_model", "LoraConfig", "prepare_model_for_kbit_training", "AutoModelForCausalLM.from_pretrained", "PeftModel.from_pretrained", "Trainer",
    "TrainingArguments", "SFTTrainer", "SFTConfig", "torch.optim.AdamW", "BitsAndBytesConfig", "AutoTokenizer.from_pretrained", "torch.no_grad", "len",
    "range", "getattr", "setattr", "isinstance", "print", "list", "dict", "zip", "enumerate", "type", "super", "Accelerator", "partial", "sum", "sorted",
    "torch.tensor", "torch.load", "nn.Module", "nn.Linear", "locals", "vars", "hasattr", "map", "open", "int", "str", "torch.inference_mode",
)  # fmt: skip
KEYWORDS = ("load_in_4bit", "device_map", "quantization_config", "args", "model", "gradient_checkpointing", "is_trainable", "inference_mode", "key", "r")
CONSTANTS = ("0", "1", "-1", "True", "False", "None", "'auto'", "'cuda:0'", "''", "...", "1.5", "b'x'", "f'{x}'", "10 ** 9", "{}", "[]", "()", "'%s'", "2j")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", "|", "and", "or", "==", "<", "in", "is not", "not in")
HEAD = (
    "import torch\nfrom torch import nn\nfrom functools import partial\nfrom accelerate import Accelerator\nfrom trl import SFTTrainer, SFTConfig\n"
    "from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments\n"
)


class Writer:
    """Writes one program."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.left = self.chance.randint(5, 80)

    def program(self) -> str:
        lines = [line for _ in range(self.chance.randint(1, 25)) for line in self.statement(0)]
        return HEAD + "\n".join(lines) + "\n"

    def name(self) -> str:
        return self.chance.choice(NAMES)

    def block(self, depth: int, **kinds: bool) -> list[str]:
        return ["    " + line for _ in range(self.chance.randint(1, 4)) for line in self.statement(depth + 1, **kinds)]

    def statement(self, depth: int, *, function: bool = False, loop: bool = False) -> list[str]:
        self.left -= 1
        pick = self.chance.randint(0, 27 if depth < 5 and self.left > 0 else 11)
        name, value = self.name(), self.value(0)
        kinds = {"function": function, "loop": loop}
        simple = (
            f"{name} = {value}", f"{self.target()} = {value}", f"{name} = {value}", f"{self.value(0)}", f"{name} += {value}", f"{name}: A = {value}",
            f"del {self.target()}", f"assert {value}, {name}", f"raise {name}" if self.chance.random() < 0.3 else "pass",
            (f"return {value}" if self.chance.random() < 0.8 else f"yield {value}") if function else f"{name} = {self.call(0)}",
            self.chance.choice(("break", "continue")) if loop else self.call(0), self.call(0),
        )  # fmt: skip
        if pick < len(simple):
            return [simple[pick]]
        if pick in (12, 13):
            more = [f"elif {self.value(0)}:", *self.block(depth, **kinds)] if self.chance.random() < 0.3 else []
            return [f"if {value}:", *self.block(depth, **kinds), *more, *(["else:", *self.block(depth, **kinds)] if self.chance.random() < 0.5 else [])]
        if pick in (14, 15):
            return [f"for {self.target()} in {value}:", *self.block(depth, function=function, loop=True)]
        if pick == 16:
            return [f"while {value}:", *self.block(depth, function=function, loop=True), "else:", *self.block(depth, **kinds)]
        if pick in (17, 18):
            return [f"with {self.call(0)} as {name}, {value}:", *self.block(depth, **kinds)]
        if pick in (19, 20, 21):
            marks = [f"@{self.value(1)}"] if self.chance.random() < 0.3 else []
            return [*marks, f"def {name}({self.parameters()}) -> {self.value(2)}:", *self.block(depth, function=True)]
        if pick in (22, 23):
            return [f"class {name}({', '.join(self.chance.sample(('A', 'Trainer', 'nn.Module', 'x', 'dict', 'metaclass=type'), 2))}):", *self.block(depth)] if (
                self.chance.random() < 0.7
            ) else [f"class {name}:", *self.block(depth)]
        if pick == 24:
            last = ["else:", *self.block(depth, **kinds), "finally:", *self.block(depth, function=function)] if self.chance.random() < 0.5 else []
            return ["try:", *self.block(depth, **kinds), f"except {name} as x:", *self.block(depth, **kinds), *last]
        if pick == 25:
            return [f"match {value}:", self.chance.choice((f"    case {{'x': {name}, **other}}:", f"    case [1, {name}, *other]:", f"    case A(x={name}):")),
                    *("    " + line for line in self.block(depth, **kinds)), "    case _:", "        pass"]  # fmt: skip
        if pick == 26:
            return [f"async def {name}({self.parameters()}):", f"    async with {value} as x:", *("    " + line for line in self.block(depth, function=True))]
        return [f"global {name}_g, A_g" if function else f"from {self.chance.choice(('peft', '.', 'x.y', 'torch'))} import {name} as {self.name()}"]

    def target(self) -> str:
        pick = self.chance.randint(0, 5)
        if pick == 0:
            return f"{self.name()}, ({self.name()}, {self.name()})"
        if pick in (1, 2):
            return f"{self.name()}.{self.chance.choice(ATTRIBUTES)}"
        if pick == 3:
            return f"{self.name()}[{self.value(2)}]"
        return self.name()

    def parameters(self) -> str:
        names = self.chance.sample(NAMES, self.chance.randint(0, 4))
        parts = names[:1] + [f"{name}={self.value(2)}" for name in names[1:]]
        return ", ".join([*parts, *(["*a", "**k"] if self.chance.random() < 0.3 else [])])

    def call(self, depth: int) -> str:
        called = self.chance.choice((self.chance.choice(FUNCTIONS), self.chance.choice(FUNCTIONS), f"{self.name()}.{self.chance.choice(ATTRIBUTES)}", self.name()))
        parts = [self.value(depth + 1) for _ in range(self.chance.randint(0, 3))]
        if self.chance.random() < 0.1:
            parts.append(f"*{self.name()}")
        parts += [f"{key}={self.value(depth + 1)}" for key in self.chance.sample(KEYWORDS, self.chance.randint(0, 2))]
        if self.chance.random() < 0.1:
            parts.append(f"**{self.name()}")
        return f"{called}({', '.join(parts)})"

    def value(self, depth: int) -> str:
        pick = self.chance.randint(0, 19) if depth < 4 else self.chance.randint(0, 5)
        inner = depth + 1
        if pick <= 2:
            return self.name()
        if pick <= 5:
            return self.chance.choice(CONSTANTS)
        if pick <= 9:
            return self.call(inner)
        if pick <= 11:
            return f"{self.name()}.{self.chance.choice(ATTRIBUTES)}"
        if pick == 12:
            return f"({self.value(inner)} {self.chance.choice(OPERATORS)} {self.value(inner)})"
        if pick == 13:
            return f"({self.value(inner)} if {self.value(inner)} else {self.value(inner)})"
        if pick == 14:
            return f"[{self.value(inner)}, *{self.name()}, {self.value(inner)}]"
        if pick == 15:
            return f"{{{self.chance.choice(CONSTANTS[:11])}: {self.value(inner)}, **{self.name()}}}"
        if pick == 16:
            return f"(lambda {self.parameters()}: {self.value(inner)})"
        if pick == 17:
            opening, closing = self.chance.choice(("[]", "()", "{}"))
            return f"{opening}{self.value(inner)} for {self.name()} in {self.name()} if {self.value(inner)}{closing}"
        if pick == 18:
            return f"{self.name()}[{self.value(inner)}:{self.value(inner)}]"
        return f"(not {self.value(inner)})"


def program(seed: str) -> str:
    """The program of a seed."""
    return Writer(seed).program()


def named(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many programs, each with its seed as its name."""
    for number in range(count):
        yield f"{seed}-{number}", program(f"{seed}-{number}")


if __name__ == "__main__":
    import sys

    print(program(sys.argv[1]), end="")
