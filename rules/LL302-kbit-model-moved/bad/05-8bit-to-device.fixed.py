"""transformers 4.57 lets 4-bit models move, but still refuses .to() on an 8-bit one."""
# target: transformers==4.57.6 peft==0.18.1 accelerate==1.12.0
import os

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BitsAndBytesConfig

BITS = BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=6.0)
DEVICE = torch.device(os.environ.get("DEVICE", "cuda"))


def classifier(path):
    model = AutoModelForSequenceClassification.from_pretrained(path, num_labels=2, quantization_config=BITS)
    return AutoTokenizer.from_pretrained(path), model.eval()  # LL302


@torch.no_grad()
def label(tokenizer, model, texts):
    batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to(model.device)
    return model(**batch).logits.argmax(-1).tolist()


if __name__ == "__main__":
    tokenizer, model = classifier("FacebookAI/roberta-large")
    print(label(tokenizer, model, open("lines.txt").read().splitlines()[:8]))
