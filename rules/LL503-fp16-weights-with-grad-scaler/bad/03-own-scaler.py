"""A loop of one's own: halved after the wrap, then scaled."""
import torch
from peft import LoraConfig, get_peft_model
from torch.cuda.amp import GradScaler, autocast
from transformers import AutoModelForCausalLM, AutoTokenizer


class Tuner:
    def __init__(self, base):
        self.tokenizer = AutoTokenizer.from_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(base)
        model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        self.model = model.half().cuda()
        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)
        self.scaler = GradScaler()

    def step(self, text):
        batch = self.tokenizer(text, return_tensors="pt").to("cuda")
        with autocast():
            loss = self.model(**batch, labels=batch["input_ids"]).loss
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)  # LL503
        self.scaler.update()
        self.optimizer.zero_grad()


tuner = Tuner("Qwen/Qwen2.5-0.5B")
for line in open("train.txt"):
    tuner.step(line)
