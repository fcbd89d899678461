"""Fine: teacher and student read the same tokens, and only the student is meant to learn from the difference."""
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class Distiller(nn.Module):
    def __init__(self, student, teacher):
        super().__init__()
        self.student = student
        self.teacher = teacher.eval().requires_grad_(False)

    def forward(self, ids):
        with torch.no_grad():
            target = self.teacher(input_ids=ids).logits
        logits = self.student(input_ids=ids).logits
        return (logits - target).pow(2).mean()


NAME = "huggyllama/llama-7b"
tok = AutoTokenizer.from_pretrained(NAME)
student = AutoModelForCausalLM.from_pretrained(NAME)
student = get_peft_model(student, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
net = Distiller(student, AutoModelForCausalLM.from_pretrained(NAME)).to("cuda")
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
net.student.train()
for line in open("train.txt", encoding="utf-8"):
    loss = net(tok(line, return_tensors="pt").input_ids.to("cuda"))
    loss.backward()
    opt.step()
    opt.zero_grad()
