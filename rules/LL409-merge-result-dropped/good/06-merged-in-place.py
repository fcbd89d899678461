"""Fine: merge_adapter() works in place, it is unmerge_adapter() that follows, and then the adapter is saved."""
from peft import PeftModel
from transformers import AutoModelForCausalLM

model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), "runs/adapter", is_trainable=True)
model.merge_adapter()
print(sum(p.abs().sum() for p in model.parameters()))
model.unmerge_adapter()
model.save_pretrained("runs/copy")
