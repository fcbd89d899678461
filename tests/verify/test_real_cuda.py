"""Virtual CUDA beside real CUDA: small programs that end alike. Without a GPU only the virtual side is run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

STEP = Path(__file__).resolve().parents[2] / "lora_lint" / "verify" / "step"
RUNNER = """
import importlib.util, json, sys, traceback
spec = importlib.util.spec_from_file_location("lora_lint_step", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
package = importlib.util.module_from_spec(spec); sys.modules["lora_lint_step"] = package; spec.loader.exec_module(package)
import torch, transformers
if sys.argv[2] == "virtual":
    importlib.import_module("lora_lint_step.virtual_cuda").install(1)
for text in json.load(sys.stdin):
    torch.manual_seed(0)
    try:
        exec(compile(text, "case.py", "exec"), {"torch": torch, "F": torch.nn.functional, "transformers": transformers})
        ended = ["", "", 0]
    except Exception as error:
        line = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "case.py"][-1]
        ended = [type(error).__name__, str(error).splitlines()[0], line]
    print(json.dumps(ended))
"""
TINY = """config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = transformers.LlamaForCausalLM(config).cuda()
"""
# Each program with the line at which it fails, 0 where it does not.
CASES = {
    "two tensors": ("a = torch.ones(2).cuda()\na + torch.ones(2)", 2),
    "a number from the CPU": ("a = torch.ones(2).cuda()\na + torch.tensor(1.0)", 0),
    "a number from the GPU": ("a = torch.tensor(1.0).cuda()\ntorch.ones(2) + a", 2),
    "a linear layer": ("layer = torch.nn.Linear(2, 2).cuda()\nlayer(torch.ones(1, 2))", 2),
    "an embedding": ("layer = torch.nn.Embedding(4, 2).cuda()\nlayer(torch.tensor([1]))", 2),
    "labels of a loss": ("logits = torch.ones(2, 3).cuda()\nF.cross_entropy(logits, torch.tensor([0, 1]))", 2),
    "a CPU index": ("a = torch.ones(3).cuda()\na[torch.tensor([0, 1])]", 0),
    "a GPU index": ("a = torch.ones(3)\na[torch.tensor([0, 1]).cuda()]", 2),
    "joined": ("a = torch.ones(2).cuda()\ntorch.cat([a, torch.ones(2)])", 2),
    "masked": ("a = torch.ones(2).cuda()\na.masked_fill(torch.tensor([True, False]), 0.0)", 2),
    "copied": ("a = torch.ones(2).cuda()\na.copy_(torch.zeros(2))\nassert a.sum().item() == 0", 0),
    "as numpy": ("a = torch.ones(2).cuda()\na.numpy()", 2),
    "attention with dropout": ("q = torch.ones(1, 2, 4, 8).cuda()\nF.scaled_dot_product_attention(q, q, q, dropout_p=0.1, is_causal=True)", 0),
    "autocast": ("x = torch.ones(2, 2).cuda()\nwith torch.autocast('cuda'):\n    assert (x @ x).dtype == torch.float16", 0),
    "a model": (TINY + "model(input_ids=torch.tensor([[1, 2]]))", 3),
    "a model with its inputs": (TINY + "model(input_ids=torch.tensor([[1, 2]]).cuda(), labels=torch.tensor([[1, 2]])).loss.backward()", 0),
}


def run(kind: str) -> dict[str, tuple[str, str, int]]:
    texts = json.dumps([text for text, _ in CASES.values()])
    done = subprocess.run([sys.executable, "-c", RUNNER, str(STEP), kind], input=texts, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, map(tuple, map(json.loads, done.stdout.splitlines())), strict=True))


@pytest.fixture(scope="module")
def virtual() -> dict[str, tuple[str, str, int]]:
    return run("virtual")


def test_virtual_devices_fail_where_they_should(virtual: dict[str, tuple[str, str, int]]) -> None:
    assert {name: line for name, (_, _, line) in virtual.items()} == {name: line for name, (_, line) in CASES.items()}


def test_real_devices_say_the_same(virtual: dict[str, tuple[str, str, int]]) -> None:
    probe = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True)
    if probe.stdout.strip() != "True":
        pytest.skip("needs a GPU")
    real = run("real")
    assert {name: (kind, line) for name, (kind, _, line) in real.items()} == {name: (kind, line) for name, (kind, _, line) in virtual.items()}
