"""A loop of its own; checkpointing comes before the wrap, so that the inputs require grad."""
# target: transformers==4.44.2 peft==0.12.0 torch==2.4.0
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM

torch.distributed.init_process_group("nccl")
rank = torch.distributed.get_rank()

net = AutoModelForCausalLM.from_pretrained("gpt2-xl").to(rank)
net.gradient_checkpointing_enable()  # LL508
net = get_peft_model(net, LoraConfig(task_type="CAUSAL_LM", target_modules=["c_attn"]))
net.train()
net = DistributedDataParallel(net, device_ids=[rank], find_unused_parameters=True)
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-4)

for ids in torch.load(f"ids.{rank}.pt").split(4):
    ids = ids.to(rank)
    net(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
