"""Fine: a copy of the base is merged."""
import copy
import sys

from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained(sys.argv[1])
for adapter in sys.argv[2:]:
    merged = PeftModel.from_pretrained(copy.deepcopy(base), adapter).merge_and_unload()
    merged.save_pretrained(adapter + "-merged")
