"""The project allows releases on both sides of the change; the override is of a trainer of TRL."""

import torch
from trl import RewardTrainer


class MarginTrainer(RewardTrainer):
    """A reward trainer with a margin."""

    def compute_loss(self, model: torch.nn.Module, inputs: dict, return_outputs: bool = False, num_items_in_batch=None) -> torch.Tensor:  # LL703
        chosen = model(input_ids=inputs["input_ids_chosen"]).logits
        rejected = model(input_ids=inputs["input_ids_rejected"]).logits
        return -torch.nn.functional.logsigmoid(chosen - rejected - inputs["margin"]).mean()
