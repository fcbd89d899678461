"""The loss is computed over generated tokens and then marked: nothing connects it to the adapters."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

model.train()
for row in open("qa.tsv", encoding="utf-8"):
    question, answer = row.rstrip("\n").split("\t")
    enc = tok(question, return_tensors="pt").to("cuda")
    gold = tok(answer, return_tensors="pt").input_ids.to("cuda")
    produced = model.generate(**enc, max_new_tokens=gold.size(1), min_new_tokens=gold.size(1))
    tail = produced[:, -gold.size(1) :].float()  # LL102
    loss = F.mse_loss(tail, gold.float())
    loss.requires_grad = True  # LL105
    loss.backward()
    opt.step()
    opt.zero_grad()
