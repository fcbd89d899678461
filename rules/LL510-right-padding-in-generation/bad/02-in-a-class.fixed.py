"""padding_side is a keyword of the loader, and the ids go to generate() by name."""
# fix: unsafe
from peft import AutoPeftModelForCausalLM
from transformers import AutoTokenizer


class Judge:
    def __init__(self, adapter, device="cuda"):
        self.device = device
        self.tok = AutoTokenizer.from_pretrained(adapter, padding_side="left", use_fast=True)
        self.model = AutoPeftModelForCausalLM.from_pretrained(adapter).to(device)

    def __call__(self, pairs):
        texts = ["{} or {}?".format(a, b) for a, b in pairs]
        enc = self.tok(texts, padding="longest", return_tensors="pt")
        return self.model.generate(  # LL510
            input_ids=enc.input_ids.to(self.device),
            attention_mask=enc.attention_mask.to(self.device),
            max_new_tokens=4,
        )


if __name__ == "__main__":
    Judge("runs/judge")([("a", "b"), ("c", "d")])
