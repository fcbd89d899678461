"""An adapter loaded onto a base and merged, twice from the same base object: are the weights of the second changed by both? Nothing is emulated."""

import torch
from _common import Answer, adapter_folder, report, tiny_llama


def ask() -> Answer:
    from peft import PeftModel

    base, folder = tiny_llama(), adapter_folder()

    def weight() -> torch.Tensor:
        return base.model.layers[0].self_attn.q_proj.weight.detach().clone()

    seen = [weight()]
    for _ in range(2):
        PeftModel.from_pretrained(base, folder).merge_and_unload()
        seen.append(weight())
    once, twice = (seen[1] - seen[0]).abs().sum(), (seen[2] - seen[0]).abs().sum()
    return Answer(bool(twice > 1.5 * once > 0), why=f"changed by {once:.4f}, then by {twice:.4f}")


report(ask)
