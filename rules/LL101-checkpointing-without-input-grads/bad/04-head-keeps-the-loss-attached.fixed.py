"""The output head is trained too, so backward() works: the adapters inside the blocks silently get no gradient."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def main():
    base = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype="auto")
    lora = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=32,
        lora_alpha=64,
        target_modules=["gate_proj", "up_proj", "down_proj"],
        modules_to_save=["lm_head"],
    )
    peft_model = get_peft_model(base, lora)
    args = TrainingArguments(
        "runs/new-domain",
        gradient_checkpointing=True,  # LL101
        per_device_train_batch_size=2,
        bf16=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    trainer = Trainer(peft_model, args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator)
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
