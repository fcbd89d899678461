"""A false alarm: a benchmark wants a fresh adapter of the stored shape; that nothing was to be loaded cannot be seen."""
# today: LL403
import torch
from peft import PeftConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), PeftConfig.from_pretrained("experiments/rank8")).eval()
with torch.inference_mode():
    model.generate(**tokenizer("How fast?", return_tensors="pt"), max_new_tokens=64)
