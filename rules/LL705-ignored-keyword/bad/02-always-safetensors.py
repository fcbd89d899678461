"""From transformers 5.0.0 on, weights are saved as safetensors whatever the keyword says."""
# target: transformers==5.24.0

from transformers import AutoModelForCausalLM


def export(folder):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model.save_pretrained(folder, safe_serialization=False)  # LL705
