"""Fine: each turn loads a base of its own."""
from pathlib import Path

from peft import PeftModel
from transformers import AutoModelForCausalLM

for adapter in sorted(Path("adapters").iterdir()):
    base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
    merged = PeftModel.from_pretrained(base, adapter).merge_and_unload()
    merged.save_pretrained(Path("merged") / adapter.name)
