"""Fine: the early optimizer belongs to a value head of its own; the adapter gets a second one."""
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
value_head = nn.Linear(model.config.hidden_size, 1).to("cuda")
value_optimizer = torch.optim.AdamW(value_head.parameters(), lr=1e-3)

model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
lora_optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
model.train()
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    out = model(**batch, labels=batch["input_ids"], output_hidden_states=True)
    value = value_head(out.hidden_states[-1][:, -1].float()).mean()
    loss = out.loss + (value - out.loss.detach()) ** 2
    loss.backward()
    for optimizer in (lora_optimizer, value_optimizer):
        optimizer.step()
        optimizer.zero_grad()
