"""A training loop that calls .cuda() on every tensor although device_map chose the place of the model."""
import peft as pf
import torch
import transformers as tf
from torch.utils.data import DataLoader

tok = tf.AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")


def collate(lines):
    enc = tok(lines, padding=True, return_tensors="pt")
    return {**enc, "labels": enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)}


def epoch(net, loader, opt):
    net.train()
    for batch in loader:
        batch = {key: value.cuda() for key, value in batch.items()}  # LL304 note
        opt.zero_grad()
        net(**batch).loss.backward()
        opt.step()


if __name__ == "__main__":
    base = tf.AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16, device_map="auto")
    net = pf.get_peft_model(base, pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
    epoch(net, DataLoader(open("train.txt").read().splitlines(), batch_size=2, collate_fn=collate), opt)
    net.save_pretrained("mapped-lora")
