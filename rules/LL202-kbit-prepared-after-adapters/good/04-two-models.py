"""Fine: the second preparation belongs to another model, which is wrapped after it."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def load(name):
    bnb = BitsAndBytesConfig(load_in_8bit=True)
    return AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb, device_map={"": 0})


def train(model, out):
    args = TrainingArguments(out, bf16=True)
    Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


config = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
first = get_peft_model(prepare_model_for_kbit_training(load("huggyllama/llama-7b")), config)
second = prepare_model_for_kbit_training(load("huggyllama/llama-13b"))
second = get_peft_model(second, config)
train(first, "small")
train(second, "large")
