"""Fine: what stands below the PeftModel saves itself, whole and merged."""
from peft import PeftModel
from transformers import AutoModelForCausalLM


def export(base, adapter, target):
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter)
    model.merge_and_unload()
    model.base_model.save_pretrained(target)


export("Qwen/Qwen2.5-0.5B", "runs/adapter", "runs/merged")
