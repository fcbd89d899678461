"""For a PeftModel the trainer looks for unused parameters unless it is told not to; in this release checkpointing is reentrant by default."""
# target: transformers==4.44.2 peft==0.12.0
import os

import torch
import transformers
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training


def load(name):
    bnb = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    device = {"": int(os.environ["LOCAL_RANK"])}
    base = transformers.AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb, device_map=device)
    base = prepare_model_for_kbit_training(base, use_gradient_checkpointing=False)
    base.enable_input_require_grads()
    return get_peft_model(base, LoraConfig(r=64, target_modules=["q_proj", "k_proj", "v_proj"], task_type="CAUSAL_LM"))


def main(data):
    args = transformers.TrainingArguments("out", gradient_checkpointing=True, max_steps=1000)  # LL508
    transformers.Trainer(load("mistralai/Mistral-7B-v0.1"), args, train_dataset=data).train()


main(torch.load("train.pt"))
