"""A policy object; a loaded adapter that goes on training mixes as well."""
import torch
from peft import PeftModel
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from transformers import AutoModelForCausalLM
from transformers.models.qwen2.modeling_qwen2 import Qwen2DecoderLayer


class Learner:
    def __init__(self, base, adapter):
        torch.distributed.init_process_group("nccl")
        self.rank = torch.distributed.get_rank()
        model = AutoModelForCausalLM.from_pretrained(base)
        model = PeftModel.from_pretrained(model, adapter, is_trainable=True)
        self.model = FSDP(model, auto_wrap_policy=ModuleWrapPolicy({Qwen2DecoderLayer}), device_id=self.rank)  # LL512
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)

    def step(self, ids):
        self.model(input_ids=ids, labels=ids).loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


learner = Learner("Qwen/Qwen2.5-7B", "adapter")
for batch in torch.load("ids.pt").split(2):
    learner.step(batch.to(learner.rank))
