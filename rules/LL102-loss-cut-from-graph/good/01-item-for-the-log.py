"""Fine: item(), detach() and float() feed only the log; backward() gets the tensor itself."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
running, history = 0.0, []
model.train()
for step, line in enumerate(open("train.txt", encoding="utf-8")):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    running += loss.detach().float()
    history.append(loss.item())
    print(step, float(loss), running / (step + 1))
