"""The group is joined on request; the map does not know of the request."""
# fix: unsafe
import argparse

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--multi", action="store_true", help="started by torchrun")
opt = parser.parse_args()

if opt.multi:
    torch.distributed.init_process_group(backend="nccl")

kwargs = {"torch_dtype": torch.bfloat16, "attn_implementation": "sdpa"}
kwargs["device_map"] = "auto"  # LL307
model = AutoModelForCausalLM.from_pretrained(opt.model, **kwargs)
trainer = SFTTrainer(
    model=model,
    args=SFTConfig(output_dir="sft", max_steps=500),
    train_dataset=load_dataset("json", data_files="chat.jsonl", split="train"),
    peft_config=LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"),
)
trainer.train()
