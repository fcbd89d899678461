"""The trainer passes num_items_in_batch to compute_loss from transformers 4.46.0 on."""
# target: transformers==4.57.6

import torch
from transformers import Trainer


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):  # LL703
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=self.args.weight)
        return (loss, outputs) if return_outputs else loss
