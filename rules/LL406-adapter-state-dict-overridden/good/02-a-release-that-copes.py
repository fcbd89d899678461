"""Fine on this release: peft 0.21 finds the adapter's tensors under both forms of their names."""
# target: transformers==5.23.0 peft==0.21.2 accelerate==1.15.0
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
old = model.state_dict
model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("runs/new")
