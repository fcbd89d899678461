"""Fine: there is no adapter; every weight of the model is in the optimizer and trains."""
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer

accelerator = Accelerator()
tokenizer = AutoTokenizer.from_pretrained("openai-community/gpt2")
model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model, optimizer = accelerator.prepare(model, optimizer)
model.train()
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to(accelerator.device)
    loss = model(**batch, labels=batch["input_ids"]).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
