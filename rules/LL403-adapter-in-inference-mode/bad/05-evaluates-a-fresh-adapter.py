"""An evaluation that never reads the adapter: get_peft_model() makes a new one, whose effect is zero."""
import torch
from peft import PeftConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

path = "runs/first"
config = PeftConfig.from_pretrained(path)
base = AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path)
model = get_peft_model(base, config).to("cuda").eval()  # LL403
tokenizer = AutoTokenizer.from_pretrained(config.base_model_name_or_path)

with torch.no_grad():
    for line in open("lines.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        print(f"{model(**batch, labels=batch['input_ids']).loss.item():.3f}")
