"""The adapter was loaded frozen, so the loss needed no gradient; forcing one makes the run silent, not useful."""
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def resume(name, adapter):
    base = AutoModelForCausalLM.from_pretrained(name)
    return PeftModel.from_pretrained(base, adapter)  # LL402


def main():
    tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
    model = resume("huggyllama/llama-7b", "stage-1").to("cuda")
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for line in open("stage2.txt", encoding="utf-8"):
        ids = tok(line, return_tensors="pt").input_ids.to("cuda")
        loss = model(input_ids=ids, labels=ids).loss.requires_grad_()  # LL105
        loss.backward()
        opt.step()
        opt.zero_grad()
    model.save_pretrained("stage-2")


if __name__ == "__main__":
    main()
