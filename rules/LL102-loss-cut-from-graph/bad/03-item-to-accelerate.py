"""The loss becomes a Python float, which has no backward."""
import accelerate
import peft as pf
import torch
import transformers as tf
from torch.utils.data import DataLoader


def losses_of(model, batch):
    out = model(**batch, labels=batch["input_ids"])
    return out.loss.item()  # LL102


def run(name="EleutherAI/pythia-410m", epochs=2):
    acc = accelerate.Accelerator()
    tok = tf.AutoTokenizer.from_pretrained(name)
    tok.pad_token = "<|padding|>"
    net = tf.AutoModelForCausalLM.from_pretrained(name)
    net = pf.get_peft_model(net, pf.LoraConfig(r=8, target_modules=["query_key_value"], task_type="CAUSAL_LM"))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    texts = open("train.txt", encoding="utf-8").read().splitlines()
    loader = DataLoader(texts, batch_size=8, collate_fn=lambda t: tok(t, return_tensors="pt", padding=True))
    net, opt, loader = acc.prepare(net, opt, loader)
    net.train()
    for _ in range(epochs):
        for batch in loader:
            value = losses_of(net, batch)
            acc.backward(value)
            opt.step()
            opt.zero_grad()
    acc.unwrap_model(net).save_pretrained("pythia-lora")


run()
