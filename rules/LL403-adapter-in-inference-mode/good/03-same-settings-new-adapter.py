"""Fine: the stored config is switched back to training before a new adapter is made from it."""
import torch
from peft import PeftConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

config = PeftConfig.from_pretrained("runs/first")
config.inference_mode = False
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config).to("cuda")
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
