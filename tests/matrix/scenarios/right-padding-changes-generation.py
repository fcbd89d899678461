"""generate() with a decoder-only model on a prompt that is padded on the right: does it write something else than after the prompt alone?

Real: the model, with random weights, and greedy search.
"""

import torch
from _common import Answer, report, tiny_llama


def ask() -> Answer:
    model = tiny_llama().eval()
    prompt = torch.tensor([[5, 6, 7, 8]])

    def written(ids: torch.Tensor, mask: torch.Tensor) -> list:
        return model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=6, do_sample=False, pad_token_id=0)[0, ids.shape[1] :].tolist()

    alone, pad = written(prompt, torch.ones_like(prompt)), torch.zeros(1, 4, dtype=torch.long)
    right = written(torch.cat([prompt, pad], 1), torch.cat([torch.ones_like(prompt), pad], 1))
    left = written(torch.cat([pad, prompt], 1), torch.cat([pad, torch.ones_like(prompt)], 1))
    return Answer(right != alone == left, why=f"alone {alone}, right {right}, left {left}")


report(ask)
