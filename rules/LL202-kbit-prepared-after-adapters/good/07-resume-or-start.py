"""Fine: both branches add a trainable adapter to the base that was prepared above them."""
import argparse

from datasets import load_from_disk
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume")
    args = parser.parse_args()
    bnb = BitsAndBytesConfig(load_in_8bit=True)
    model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=bnb, device_map={"": 0})
    model = prepare_model_for_kbit_training(model)
    if args.resume:
        model = PeftModel.from_pretrained(model, args.resume, is_trainable=True)
    else:
        model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    training = TrainingArguments("out", bf16=True)
    Trainer(model=model, args=training, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


main()
