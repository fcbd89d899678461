"""So does training_step, by its position."""
# target: transformers==4.57.6

from transformers import Trainer


class LoggingTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):  # LL703
        loss = super().training_step(model, inputs)
        print(loss)
        return loss
