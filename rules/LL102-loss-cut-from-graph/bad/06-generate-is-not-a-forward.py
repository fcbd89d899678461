"""generate() runs without gradients, so a loss over its scores trains nothing."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

NAME = "google/flan-t5-base"
tok = AutoTokenizer.from_pretrained(NAME)
model = AutoModelForSeq2SeqLM.from_pretrained(NAME)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM")).to("cuda")
optim = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)


def answer_loss(question, answer):
    enc = tok(question, return_tensors="pt").to("cuda")
    gold = tok(answer, return_tensors="pt").input_ids.to("cuda")
    out = model.generate(**enc, max_new_tokens=gold.size(1), output_scores=True, return_dict_in_generate=True)
    scores = torch.stack(out.scores, dim=1)  # LL102
    n = min(scores.size(1), gold.size(1))
    return torch.nn.functional.cross_entropy(scores[0, :n], gold[0, :n])


model.train()
for row in open("qa.tsv", encoding="utf-8"):
    q, a = row.rstrip("\n").split("\t")
    loss = answer_loss(q, a)
    loss.backward()
    optim.step()
    optim.zero_grad()
model.save_pretrained("flan-lora")
