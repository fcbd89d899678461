"""compute_loss switches gradients off for the policy as well as for the reference."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

BASE = "huggyllama/llama-7b"


class AnchoredTrainer(Trainer):
    reference = None

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        with torch.set_grad_enabled(False):
            anchor = self.reference(**inputs).logits  # LL103
            outputs = model(**inputs)
        distance = (outputs.logits.softmax(-1) - anchor.softmax(-1)).pow(2).sum(-1).mean()
        loss = outputs.loss + 0.1 * distance
        return (loss, outputs) if return_outputs else loss


reference = AutoModelForCausalLM.from_pretrained(BASE).to("cuda").eval()
model = AutoModelForCausalLM.from_pretrained(BASE)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
trainer = AnchoredTrainer(
    model=model,
    args=TrainingArguments("anchored", per_device_train_batch_size=1, learning_rate=1e-5),
    train_dataset=load_from_disk("packed"),
    data_collator=default_data_collator,
)
trainer.reference = reference
trainer.train()
