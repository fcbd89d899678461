"""The pinned release calls it like that."""
# target: transformers==4.44.2

from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss
