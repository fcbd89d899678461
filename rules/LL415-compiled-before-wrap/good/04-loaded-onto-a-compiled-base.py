"""Fine: the adapter is loaded onto a base that is compiled in the same way."""
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

BASE = "Qwen/Qwen2.5-0.5B"


def base():
    return torch.compile(AutoModelForCausalLM.from_pretrained(BASE))


def fit(batches):
    model = get_peft_model(base(), LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for batch in batches:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained("out")


fit(torch.load("batches.pt"))
model = PeftModel.from_pretrained(base(), "out")
print(model.generate(input_ids=torch.ones(1, 8, dtype=torch.long)))
