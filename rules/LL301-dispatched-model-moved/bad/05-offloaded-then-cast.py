"""A dtype is a move as well: an offloaded model refuses every .to(), whatever its argument."""
import fire
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


def summarize(checkpoint="google/flan-t5-base", path="lines.txt", length=40):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    placement = {"shared": 0, "encoder": 0, "decoder": "cpu", "lm_head": 0}
    model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, device_map=placement)
    model = model.to(torch.bfloat16)  # LL301
    with open(path) as lines, torch.inference_mode():
        for line in lines:
            batch = tokenizer("summarize: " + line, return_tensors="pt").to(model.device)
            print(tokenizer.decode(model.generate(**batch, max_new_tokens=length)[0], skip_special_tokens=True))


if __name__ == "__main__":
    fire.Fire(summarize)
