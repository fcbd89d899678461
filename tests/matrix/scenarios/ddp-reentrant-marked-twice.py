"""LoRA under DistributedDataParallel with find_unused_parameters=True and reentrant checkpointing: is a parameter marked as ready twice?

One process, on the CPU; nothing is emulated. The backward pass ends in the same reducer, whatever the number of processes.
"""

import tempfile

import torch
from _common import Answer, fails_with, lora, report, tiny_llama, train


def ask() -> Answer:
    from peft import get_peft_model

    torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/meet", rank=0, world_size=1)
    model = tiny_llama()
    model.enable_input_require_grads()
    model = get_peft_model(model, lora())
    try:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    except TypeError:  # the first releases have no such argument and are reentrant
        model.gradient_checkpointing_enable()
    wrapped = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
    return fails_with("Expected to mark a variable ready only once", lambda: train(wrapped))


report(ask)
