"""The pinned release saves as it is told."""
# target: transformers==4.44.2

from transformers import AutoModelForCausalLM

AutoModelForCausalLM.from_pretrained("gpt2").save_pretrained("out", safe_serialization=False)
