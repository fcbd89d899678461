"""The quantization travels in a dictionary of keywords, and transformers' own add_adapter attaches the adapter."""
# target: transformers==4.44.2 peft==0.12.0 bitsandbytes==0.43.3
import torch
from accelerate import Accelerator
from peft import LoraConfig, prepare_model_for_kbit_training
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


def model_kwargs(bits):
    kwargs = {"device_map": {"": 0}, "torch_dtype": torch.bfloat16}
    if bits in (4, 8):
        kwargs["quantization_config"] = BitsAndBytesConfig(load_in_4bit=bits == 4, load_in_8bit=bits == 8)
    return kwargs


def main(name="mistralai/Mistral-7B-v0.1", bits=4):
    accelerator = Accelerator()
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, **model_kwargs(bits))
    model = prepare_model_for_kbit_training(model)
    model.add_adapter(LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))  # LL201
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    loader = DataLoader(lines, batch_size=1, collate_fn=lambda texts: tok(texts, return_tensors="pt"))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        accelerator.backward(model(**batch, labels=batch["input_ids"]).loss)
        optimizer.step()
        optimizer.zero_grad()


main()
