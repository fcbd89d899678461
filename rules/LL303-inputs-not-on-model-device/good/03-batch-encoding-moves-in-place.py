"""Fine: BatchEncoding.to() moves its tensors in place, so its result may be dropped."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("google/flan-t5-small")
model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-small")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM"))
model.cuda().train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

for line in open("train.txt"):
    batch = tokenizer(line.strip(), text_target=line.strip()[:12], return_tensors="pt")
    batch.to("cuda")
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
