"""Fine: on transformers 5.0.0 to 5.3.0 load_adapter() of a transformers model leaves the adapter trainable."""
# target: transformers==5.3.0 peft==0.18.1 accelerate==1.12.0
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
model.load_adapter("runs/first-round", adapter_name="style")
model.train()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
for line in open("train.txt"):
    ids = tokenizer(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
