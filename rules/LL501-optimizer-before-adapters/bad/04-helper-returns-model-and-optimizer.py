"""A helper returns the base with an optimizer for it; main() wraps the base afterwards."""
import argparse

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def model_and_optimizer(name, lr):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=lr, momentum=0.9)  # LL501
    return model, optimizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    base, optimizer = model_and_optimizer(args.model, args.lr)
    peft_model = get_peft_model(base, LoraConfig(r=args.rank, target_modules=["q_proj", "v_proj"], task_type=TaskType.CAUSAL_LM))
    peft_model.cuda().train()
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        optimizer.zero_grad()
        peft_model(**batch, labels=batch["input_ids"]).loss.backward()
        optimizer.step()
    peft_model.save_pretrained("sgd-lora")


if __name__ == "__main__":
    main()
