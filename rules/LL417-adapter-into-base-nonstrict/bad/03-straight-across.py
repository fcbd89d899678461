"""From one model to the other without a file, in a class."""
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


class Transfer:
    def __init__(self, base):
        self.student = AutoModelForSequenceClassification.from_pretrained(base)
        teacher = AutoModelForSequenceClassification.from_pretrained(base)
        self.teacher = get_peft_model(teacher, LoraConfig(r=8, task_type="SEQ_CLS"))

    def run(self, rows):
        Trainer(model=self.teacher, args=TrainingArguments("out"), train_dataset=rows).train()
        self.student.load_state_dict(get_peft_model_state_dict(self.teacher), strict=False)  # LL417


def run(rows):
    Transfer("distilbert/distilbert-base-uncased").run(rows)
