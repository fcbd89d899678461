"""Fine: compute_loss returns the attached loss; only the outputs that go with it are detached."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments


class SmoothTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, label_smoothing=0.1)
        self.log({"raw": loss.item(), "margin": outputs.logits.detach().std().item()})
        if return_outputs:
            return loss, {"logits": outputs.logits.detach()}
        return loss


tok = AutoTokenizer.from_pretrained("roberta-base")
model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=3)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS"))
args = TrainingArguments("smooth", learning_rate=2e-4)
SmoothTrainer(model=model, args=args, train_dataset=load_from_disk("nli"), data_collator=DataCollatorWithPadding(tok)).train()
