"""Scripts as users write them, how to change one, and how to run one through the step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

STEP = Path(__file__).resolve().parents[2] / "lora_lint" / "verify" / "step"

BOOTSTRAP = """\
import importlib.util, sys
folder = sys.argv[1]
spec = importlib.util.spec_from_file_location("lora_lint_step", folder + "/__init__.py", submodule_search_locations=[folder])
package = sys.modules["lora_lint_step"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from lora_lint_step.main import main
main(sys.argv[2])
"""

LOOP = """\
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from peft import LoraConfig, get_peft_model
torch.manual_seed(0)
config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
model = LlamaForCausalLM(config)
model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for _ in range(3):
    ids = torch.randint(0, 64, (2, 8))
    out = model(input_ids=ids, labels=ids)
    loss = out.loss
    loss.backward()
    opt.step()
    opt.zero_grad()
"""

CHECKPOINTED = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8).requires_grad_(False)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return x

model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.arange(4)).sum().backward()
opt.step()
"""


def replaced(source: str, old: str, new: str) -> str:
    """The text with a part of it, which must be there, replaced."""
    assert old in source, old
    return source.replace(old, new)


def line_of(source: str, part: str) -> int:
    """The number of the first line that has a part in it."""
    return next(number for number, line in enumerate(textwrap.dedent(source).splitlines(), 1) if part in line)


def run_step(folder: Path, source: str, python: str = sys.executable, environment: dict[str, str] | None = None, **plan: Any) -> dict[str, Any]:
    """What the step saw of a script; the plan's defaults are a CPU and no lock."""
    script, root = folder / "project" / "train.py", folder / "scratch"
    for place in (script.parent, root / "out", root / "work"):
        place.mkdir(parents=True, exist_ok=True)
    script.write_text(textwrap.dedent(source), encoding="utf-8")
    whole = {"script": str(script), "argv": [], "device": "cpu", "root": str(root), "seen": str(root / "out" / "seen.json"), "lock": False, **plan}
    (root / "out" / "plan.json").write_text(json.dumps(whole), encoding="utf-8")
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": str(root), "CUDA_VISIBLE_DEVICES": "", **(environment or {})}
    command = [python, "-c", BOOTSTRAP, str(STEP), str(root / "out" / "plan.json")]
    done = subprocess.run(command, cwd=root / "work", env=variables, capture_output=True, text=True, timeout=120)
    seen = Path(whole["seen"])
    assert seen.exists(), done.stderr[-2000:]
    return {**json.loads(seen.read_text(encoding="utf-8")), "stdout": done.stdout, "stderr": done.stderr}
