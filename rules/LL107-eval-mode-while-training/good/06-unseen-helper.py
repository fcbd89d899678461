"""What a helper out of sight does with the model is unknown."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

from my_project_tools import finish_epoch

model.train()
for epoch in range(2):
    for batch in torch.load("batches.pt"):
        model(**batch).loss.backward()
        optimizer.step()
    model.eval()
    finish_epoch(model)
