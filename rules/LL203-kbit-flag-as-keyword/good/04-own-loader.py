"""Fine: load_in_4bit is a parameter of the project's own loader, which turns it into a configuration."""
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


class Loader:
    @classmethod
    def from_pretrained(cls, name, load_in_4bit=False, load_in_8bit=False):
        config = None
        if load_in_4bit or load_in_8bit:
            config = BitsAndBytesConfig(load_in_4bit=load_in_4bit, load_in_8bit=load_in_8bit)
        return AutoModelForCausalLM.from_pretrained(name, quantization_config=config, device_map={"": 0})


NAME = "huggyllama/llama-7b"
tok = AutoTokenizer.from_pretrained(NAME)
model = prepare_model_for_kbit_training(Loader.from_pretrained(NAME, load_in_4bit=True))
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
model.train()
for line in open("train.txt", encoding="utf-8"):
    batch = tok(line, return_tensors="pt").to(model.device)
    model(**batch, labels=batch["input_ids"]).loss.backward()
    opt.step()
    opt.zero_grad()
