"""Fine: the loaded adapter is merged into the base, and what trains is a new one on top."""
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "meta-llama/Llama-2-7b-hf"
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
model = PeftModel.from_pretrained(model, "runs/pretraining").merge_and_unload()
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.to("cuda").train()
tokenizer = AutoTokenizer.from_pretrained(name)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("runs/instructions")
