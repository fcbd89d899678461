"""Fine: a model whose map names two devices carries hooks that move the inputs, and the result back."""
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


def placement(name):
    layers = AutoConfig.from_pretrained(name).num_hidden_layers
    first = {"model.embed_tokens": 0, "model.rotary_emb": 0}
    last = {"model.norm": 1, "lm_head": 1}
    return first | {f"model.layers.{i}": int(i >= layers // 2) for i in range(layers)} | last


class Evaluator:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map=placement(name)).eval()

    def loss(self, text):
        batch = self.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            return self.model(**batch, labels=batch["input_ids"]).loss.item()


if __name__ == "__main__":
    evaluator = Evaluator("meta-llama/Llama-2-7b-hf")
    for line in open("lines.txt"):
        print(evaluator.loss(line.strip()))
