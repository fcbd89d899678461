"""Fine: inference_mode=False is the default, written out."""
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

config = LoraConfig(task_type=TaskType.SEQ_2_SEQ_LM, inference_mode=False, r=8, lora_alpha=32, target_modules=["q", "v"])
model = get_peft_model(AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-small"), config).to("cuda")
tokenizer = AutoTokenizer.from_pretrained("google/flan-t5-small")
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
