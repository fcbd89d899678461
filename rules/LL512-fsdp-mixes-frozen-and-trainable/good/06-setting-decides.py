"""use_orig_params follows the same setting as the adapters."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--use_peft", action="store_true")
args = parser.parse_args()

torch.distributed.init_process_group("nccl")
model = AutoModelForCausalLM.from_pretrained("gpt2")
if args.use_peft:
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
model = FSDP(model, use_orig_params=args.use_peft, device_id=torch.cuda.current_device())
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for ids in torch.load("ids.pt").split(2):
    model(input_ids=ids.cuda(), labels=ids.cuda()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
