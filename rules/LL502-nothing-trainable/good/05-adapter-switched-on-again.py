"""Fine: the adapter is off for the baseline and on again before the training."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


@torch.no_grad()
def baseline(model, batch):
    model.disable_adapter_layers()
    loss = model(**batch, labels=batch["input_ids"]).loss.item()
    model.enable_adapter_layers()
    return loss


tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
lines = open("train.txt").read().splitlines()
print(baseline(model, tokenizer(lines[0], return_tensors="pt").to("cuda")))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in lines:
    batch = tokenizer(line, return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
