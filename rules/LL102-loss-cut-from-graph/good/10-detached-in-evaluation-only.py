"""Fine: the loss is detached only when the trainer evaluates."""
from transformers import Trainer


class QuietTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = outputs.loss
        if not model.training:
            loss = loss.detach()
        return (loss, outputs) if return_outputs else loss
