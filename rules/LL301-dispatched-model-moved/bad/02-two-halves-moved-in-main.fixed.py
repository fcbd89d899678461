"""The layers are split over two GPUs by hand, and main() moves the wrapped model to one device."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def split_in_two(layers):
    table = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.norm": 1, "lm_head": 1}
    table.update({f"model.layers.{i}": 0 if 2 * i < layers else 1 for i in range(layers)})
    return table


def load(args):
    base = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16, device_map=split_in_two(args.layers))
    return get_peft_model(base, LoraConfig(r=args.rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="meta-llama/Llama-2-7b-hf")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--device", default="cuda:0")
    args = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = load(args)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to(model.device)
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained("two-gpu-lora")


if __name__ == "__main__":
    main()
