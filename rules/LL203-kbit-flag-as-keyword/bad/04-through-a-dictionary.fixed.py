"""The flag is put into a dictionary of keywords in one function and used in another."""
# target: transformers==5.5.4 peft==0.18.1
import argparse

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, BitsAndBytesConfig


def loading_options(bits):
    options = {"device_map": {"": 0}}
    if bits == 8:
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)  # LL203
    else:
        options["dtype"] = torch.bfloat16
    return options


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=8)
    args = parser.parse_args()
    tok = AutoTokenizer.from_pretrained("google/flan-t5-xl")
    model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-xl", **loading_options(args.bits))
    if args.bits == 8:
        model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=16, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    model.train()
    for row in open("pairs.tsv", encoding="utf-8"):
        source, target = row.rstrip("\n").split("\t")
        batch = tok(source, text_target=target, return_tensors="pt").to(model.device)
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
