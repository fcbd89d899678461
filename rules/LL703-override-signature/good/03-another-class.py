"""The base is no trainer of the libraries, or nobody knows which one it is."""

from my_project import BaseTrainer
from transformers import Trainer


class First(BaseTrainer):
    def compute_loss(self, model, inputs):
        return model(**inputs).loss


class Second(BaseTrainer, Trainer):
    def training_step(self, model, inputs):
        return model(**inputs).loss


class Third:
    def compute_loss(self, model, inputs):
        return model(**inputs).loss
