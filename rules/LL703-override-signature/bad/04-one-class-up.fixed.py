"""The override stands in a class between, and logging gets the start time from 4.47 on."""
# target: transformers==5.0.0

from transformers import Seq2SeqTrainer


class Base(Seq2SeqTrainer):
    def log(self, logs, start_time=None):  # LL703
        logs["lr"] = self._get_learning_rate()
        super().log(logs)


class Task(Base):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
