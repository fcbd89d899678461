"""Fine: the adapter's parameters are added to the optimizer after the wrap."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="Qwen/Qwen2.5-0.5B")
args = parser.parse_args()

tokenizer = AutoTokenizer.from_pretrained(args.model)
model = AutoModelForCausalLM.from_pretrained(args.model).to("cuda")
optimizer = torch.optim.AdamW(model.get_input_embeddings().parameters(), lr=1e-5)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.get_input_embeddings().weight.requires_grad_(True)
optimizer.add_param_group({"params": [p for n, p in model.named_parameters() if "lora_" in n], "lr": 1e-4})
model.train()
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
