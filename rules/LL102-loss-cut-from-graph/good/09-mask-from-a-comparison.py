"""Fine: the comparison gives a mask for the loss; what it is multiplied with comes from code that we cannot see, and may carry the gradient."""
import torch
from policy import token_logps
from transformers import Trainer


class MaskedTrainer(Trainer):
    def keep(self, logps, old):
        ratio = (old - logps.detach()).mean(-1)
        return ~(ratio > 0.5)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        logps = token_logps(inputs)
        loss = torch.exp(logps - inputs["old"]) * inputs["advantages"]
        return (loss * self.keep(logps, inputs["old"])).mean()
