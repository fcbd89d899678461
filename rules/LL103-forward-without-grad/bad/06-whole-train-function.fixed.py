"""The function that runs the Trainer is decorated, so every forward in train() is without gradients."""
import fire
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def train(base: str = "huggyllama/llama-7b", data: str = "packed", out: str = "lora", rank: int = 8):
    model = AutoModelForCausalLM.from_pretrained(base)
    model = get_peft_model(model, LoraConfig(r=rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    trainer = Trainer(
        model=model,
        args=TrainingArguments(output_dir=out, per_device_train_batch_size=4),
        train_dataset=load_from_disk(data),
        data_collator=default_data_collator,
    )
    trainer.train()
    model.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(train)
