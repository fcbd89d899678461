"""A static graph is recorded once, and DDP copes."""
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM

torch.distributed.init_process_group("nccl")
net = AutoModelForCausalLM.from_pretrained("gpt2")
net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
net = get_peft_model(net, LoraConfig(task_type="CAUSAL_LM"))
net.train()
net = DDP(net.cuda(), find_unused_parameters=True, static_graph=True)
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad])
for ids in torch.load("ids.pt").split(4):
    net(input_ids=ids.cuda(), labels=ids.cuda()).loss.backward()
    opt.step()
    opt.zero_grad()
