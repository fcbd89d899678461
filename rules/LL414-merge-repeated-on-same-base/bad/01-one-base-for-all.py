"""The base is loaded once, and every adapter of the list is merged into it."""
from pathlib import Path

from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
for adapter in sorted(Path("adapters").iterdir()):
    model = PeftModel.from_pretrained(base, adapter)
    merged = model.merge_and_unload()  # LL414
    merged.save_pretrained(Path("merged") / adapter.name)
