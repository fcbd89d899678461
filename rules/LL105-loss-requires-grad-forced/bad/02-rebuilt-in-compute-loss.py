"""compute_loss returns a new tensor made from a Python number: the Trainer runs and the adapters never move."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


class PenalisedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        penalty = 0.01 * float(inputs["input_ids"].shape[1])
        loss = torch.tensor(outputs.loss.item() + penalty, device=outputs.loss.device, requires_grad=True)  # LL105
        return (loss, outputs) if return_outputs else loss


def main():
    model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    trainer = PenalisedTrainer(
        model=model,
        args=TrainingArguments("penalised", per_device_train_batch_size=2, bf16=True),
        train_dataset=load_from_disk("packed"),
        data_collator=default_data_collator,
    )
    trainer.train()
    model.save_pretrained("penalised")


if __name__ == "__main__":
    main()
