"""Fine: sampling between two training steps is decorated, and nothing of it reaches backward()."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


@torch.inference_mode()
def sample(prompt):
    model.eval()
    enc = tok(prompt, return_tensors="pt").to("cuda")
    text = tok.decode(model.generate(**enc, max_new_tokens=20)[0])
    model.train()
    return text


model.train()
for step, line in enumerate(open("train.txt", encoding="utf-8")):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
    if step % 100 == 0:
        print(sample("Once upon a time"))
