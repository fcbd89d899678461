"""Without a policy the whole model is one unit."""
import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from transformers import AutoModelForCausalLM


def shard(module, rank):
    return FullyShardedDataParallel(
        module,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        device_id=rank,
        use_orig_params=True,  # LL512
    )


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    base = AutoModelForCausalLM.from_pretrained("gpt2-xl", torch_dtype=torch.bfloat16)
    model = shard(get_peft_model(base, LoraConfig(target_modules=["c_attn"], task_type="CAUSAL_LM")), rank)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for ids in torch.load("ids.pt").split(1):
        model(input_ids=ids.to(rank), labels=ids.to(rank)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
