"""Fine: after the merge a second adapter is attached, and that one trains."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def lora(rank):
    return LoraConfig(r=rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def stage(model, tokenizer, lines):
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for line in lines:
        batch = tokenizer(line, return_tensors="pt").to("cuda")
        optimizer.zero_grad()
        model(**batch, labels=batch["input_ids"]).loss.backward()
        optimizer.step()


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf").to("cuda")
    lines = open("train.txt").read().splitlines()
    model = get_peft_model(model, lora(8))
    stage(model, tokenizer, lines[:16])
    model = model.merge_and_unload()
    model = get_peft_model(model, lora(16))
    stage(model, tokenizer, lines[16:])
    model.merge_and_unload().save_pretrained("merged")
