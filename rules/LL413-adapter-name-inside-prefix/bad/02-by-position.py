"""The name is the third argument, and the trainer writes the checkpoints."""
# target: transformers==4.53.3 peft==0.16.0
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

NAME = "lora"


def build(base):
    config = LoraConfig(r=16, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj"], task_type="CAUSAL_LM")
    return get_peft_model(AutoModelForCausalLM.from_pretrained(base), config, NAME)  # LL413


def fit(base, rows, collate):
    trainer = Trainer(model=build(base), args=TrainingArguments("out"), train_dataset=rows, data_collator=collate)
    trainer.train()
