"""from_pretrained() of a checkpoint in bfloat16 without a dtype: is the model in float32? Nothing is emulated."""

import torch
from _common import Answer, report, saved, tiny_llama


def ask() -> Answer:
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM.from_pretrained(saved(tiny_llama().to(torch.bfloat16)))
    return Answer(model.dtype == torch.float32, why=f"the model is in {model.dtype}")


report(ask)
