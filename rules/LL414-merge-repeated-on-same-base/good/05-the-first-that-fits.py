"""Fine: the loop ends with the first merge."""
import os
import sys

from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained(sys.argv[1])
for adapter in sys.argv[2:]:
    if os.path.isdir(adapter):
        merged = PeftModel.from_pretrained(base, adapter).merge_and_unload()
        merged.save_pretrained("merged")
        break
