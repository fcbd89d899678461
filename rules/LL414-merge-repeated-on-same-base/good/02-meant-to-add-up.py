"""Fine: the adapters are meant to be merged one upon the other, the variable goes along."""
import sys

from peft import PeftModel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
for adapter in sys.argv[2:]:
    model = PeftModel.from_pretrained(model, adapter)
    model = model.merge_and_unload()
model.save_pretrained("all")
