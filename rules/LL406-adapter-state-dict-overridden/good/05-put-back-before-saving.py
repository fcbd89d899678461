"""Fine: the override serves the checkpoints of another tool and is taken back before save_pretrained()."""
# target: transformers==4.44.2 peft==0.12.0 accelerate==0.33.0
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
original = model.state_dict
model.state_dict = lambda *args, **kwargs: get_peft_model_state_dict(model, original())
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step, line in enumerate(open("train.txt")):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 10:
        torch.save(model.state_dict(), "step10.pt")
model.state_dict = original
model.save_pretrained("runs/final")
