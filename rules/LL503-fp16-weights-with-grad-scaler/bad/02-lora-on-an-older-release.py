"""On these releases the adapters take the type of the base."""
# target: transformers==4.40.2 peft==0.10.0
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(base):
    model = AutoModelForCausalLM.from_pretrained(base, torch_dtype="float16", device_map="auto")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    trainer = Trainer(
        model=model,
        args=TrainingArguments("out", per_device_train_batch_size=4, fp16=True),  # LL503
        train_dataset=load_from_disk("rows"),
    )
    trainer.train()


if __name__ == "__main__":
    main("Qwen/Qwen2.5-0.5B")
