"""Fine: device_map=None, the default of the option, leaves the model on the CPU until it is moved."""
import dataclasses
from typing import Optional

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclasses.dataclass
class Options:
    model: str = "Qwen/Qwen2.5-0.5B"
    device_map: Optional[str] = None


class Scorer:
    def __init__(self, options: Options):
        self.tokenizer = AutoTokenizer.from_pretrained(options.model)
        self.model = AutoModelForCausalLM.from_pretrained(options.model, device_map=options.device_map)
        if options.device_map is None:
            self.model = self.model.cuda()
        self.model.eval()

    def score(self, text):
        ids = self.tokenizer(text, return_tensors="pt").input_ids.to(self.model.device)
        with torch.no_grad():
            return self.model(input_ids=ids, labels=ids).loss.item()


if __name__ == "__main__":
    scorer = Scorer(Options())
    for line in open("lines.txt"):
        print(scorer.score(line.strip()))
