"""A loop of its own under DistributedDataParallel, the loader in another function."""
# fix: unsafe
import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM


def build(name, mapping):
    model = AutoModelForCausalLM.from_pretrained(name, device_map=mapping)  # LL307
    return get_peft_model(model, LoraConfig(target_modules="all-linear"))


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = DDP(build("Qwen/Qwen2.5-7B", "balanced"), find_unused_parameters=False)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for batch in torch.load(f"shard-{rank}.pt"):
        ids = batch.to(rank)
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
