"""Fine: the first optimizer trains the whole model, and a new one is built once the adapter is attached."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def run(model, tokenizer, optimizer, lines):
    model.train()
    for line in lines:
        batch = tokenizer(line, return_tensors="pt").to("cuda")
        optimizer.zero_grad()
        model(**batch, labels=batch["input_ids"]).loss.backward()
        optimizer.step()


def main(name="openai-community/gpt2"):
    lines = open("train.txt").read().splitlines()
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    run(model, tokenizer, optimizer, lines[:16])

    model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    run(model, tokenizer, optimizer, lines[16:])
    model.save_pretrained("second-stage")


if __name__ == "__main__":
    main()
