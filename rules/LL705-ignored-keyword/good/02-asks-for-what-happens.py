"""safe_serialization=True asks for what is done anyway, and PEFT still honours False."""

from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM

AutoModelForCausalLM.from_pretrained("gpt2").save_pretrained("out", safe_serialization=True)
AutoPeftModelForCausalLM.from_pretrained("adapter").save_pretrained("copy", safe_serialization=False)
