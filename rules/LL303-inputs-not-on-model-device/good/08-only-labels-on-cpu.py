"""Fine: the labels alone may stay on the CPU, the loss of the library moves them to the logits."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.bfloat16).cuda()
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    labels = tokenizer(line.strip(), return_tensors="pt").input_ids
    loss = model(input_ids=labels.cuda(), labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
