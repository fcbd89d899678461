"""Fine: only the evaluation runs under no_grad; both share one helper."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def loss_of(model, tok, line):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    return model(input_ids=ids, labels=ids).loss


@torch.no_grad()
def evaluate(model, tok, lines):
    model.eval()
    losses = [loss_of(model, tok, line).item() for line in lines]
    model.train()
    return sum(losses) / len(losses)


def main(name="huggyllama/llama-7b"):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    train, dev = (open(f, encoding="utf-8").read().splitlines() for f in ("train.txt", "dev.txt"))
    for _ in range(3):
        model.train()
        for line in train:
            loss_of(model, tok, line).backward()
            opt.step()
            opt.zero_grad()
        print(evaluate(model, tok, dev))


main()
