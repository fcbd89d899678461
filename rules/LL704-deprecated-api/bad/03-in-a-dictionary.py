"""The keyword comes from a dictionary."""
# target: transformers==4.57.6

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

settings = {"output_dir": "out", "warmup_ratio": 0.03}  # LL704 note


class Job:
    def __init__(self, name):
        self.model = AutoModelForCausalLM.from_pretrained(name)
        self.args = TrainingArguments(**settings)

    def run(self, dataset):
        Trainer(self.model, self.args, train_dataset=dataset).train()
