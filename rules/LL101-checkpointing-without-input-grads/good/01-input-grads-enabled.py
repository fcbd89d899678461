"""Fine: the helper that loads the base makes the embedding output require grad, whatever wraps it later."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def load(name):
    model = AutoModelForCausalLM.from_pretrained(name)
    model.enable_input_require_grads()
    return model


def main():
    model = get_peft_model(load("mistralai/Mistral-7B-v0.1"), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    args = TrainingArguments("out", gradient_checkpointing=True, bf16=True)
    Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


main()
