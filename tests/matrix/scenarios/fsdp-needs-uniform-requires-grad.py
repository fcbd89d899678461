"""FullyShardedDataParallel around a LoRA model without use_orig_params: is the mix of frozen and trainable parameters refused?

One process, on the CPU; nothing is emulated.
"""

import tempfile

import torch
from _common import Answer, fails_with, lora, report, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/meet", rank=0, world_size=1)
    model = get_peft_model(tiny_llama(), lora())
    return fails_with("uniform `requires_grad`", lambda: FullyShardedDataParallel(model, device_id=torch.device("cpu")))


report(ask)
