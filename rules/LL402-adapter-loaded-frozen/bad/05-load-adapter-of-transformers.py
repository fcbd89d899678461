"""The load_adapter() method of a transformers model loads for inference as well."""
# target: transformers==4.57.6 peft==0.18.1 accelerate==1.12.0
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def build(name, adapter):
    net = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
    net.load_adapter(adapter)  # LL402
    return net.to("cuda")


def fit(net, tokenizer, lines):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    net.train()
    for line in lines:
        ids = tokenizer(line, return_tensors="pt").input_ids.to("cuda")
        loss = net(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    checkpoint = "Qwen/Qwen2.5-0.5B"
    model = build(checkpoint, "runs/native")
    fit(model, AutoTokenizer.from_pretrained(checkpoint), open("train.txt").read().splitlines())
    model.save_pretrained("runs/native2")
