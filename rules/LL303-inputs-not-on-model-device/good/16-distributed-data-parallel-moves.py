"""Fine: DistributedDataParallel with device_ids moves its inputs (torch/nn/parallel/distributed.py, _pre_forward)."""
import os

import torch
from datasets import load_from_disk
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, default_data_collator

rank = int(os.environ["LOCAL_RANK"])
torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(AutoModelForCausalLM.from_pretrained("gpt2").cuda(rank), device_ids=[rank])
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in torch.utils.data.DataLoader(load_from_disk("rows"), batch_size=4, collate_fn=default_data_collator):
    model(**batch).loss.backward()
    opt.step()
    opt.zero_grad()
