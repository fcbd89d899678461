"""Fine: checkpointing is on before get_peft_model, and PEFT itself makes the inputs of a plain base require grad."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
base = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.bfloat16)
base.gradient_checkpointing_enable()
model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")

optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
model.train()
for line in open("train.txt", encoding="utf-8"):
    batch = tokenizer(line, return_tensors="pt").to("cuda")
    model(**batch, labels=batch["input_ids"]).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
