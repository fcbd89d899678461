"""device=0 is written into the factory call while the map decides where the model is."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def loss_of(model, rows):
    ids = torch.tensor(rows, device=0)  # LL304 note
    with torch.no_grad():
        return model(input_ids=ids, labels=ids).loss.item()


name = "mistralai/Mistral-7B-v0.1"
tokenizer = AutoTokenizer.from_pretrained(name)
options = {"device_map": "auto", "torch_dtype": torch.bfloat16}
model = AutoModelForCausalLM.from_pretrained(name, **options).eval()
for line in open("lines.txt"):
    print(loss_of(model, [tokenizer(line.strip())["input_ids"]]))
