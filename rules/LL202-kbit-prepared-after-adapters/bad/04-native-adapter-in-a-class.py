"""The adapter is added by transformers' own add_adapter in one method, the preparation follows in another."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


class Job:
    def __init__(self, name):
        bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
        self.model = AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb, device_map={"": 0})

    def attach(self):
        self.model.add_adapter(LoraConfig(r=8, target_modules=["q_proj", "v_proj"]), adapter_name="support")
        self.stabilise()

    def stabilise(self):
        self.model.config.use_cache = False
        self.model = prepare_model_for_kbit_training(self.model)  # LL202

    def run(self):
        self.attach()
        args = TrainingArguments("support", per_device_train_batch_size=2, bf16=True)
        Trainer(model=self.model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
        self.model.save_pretrained("support")


Job("huggyllama/llama-7b").run()
