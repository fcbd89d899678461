"""Fine: given peft_config, SFTTrainer of trl 0.4.2 to 0.25 calls the preparation itself."""
# target: transformers==4.44.2 peft==0.12.0 trl==0.11.4
import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=bnb, device_map={"": 0})
trainer = SFTTrainer(
    model=model,
    args=SFTConfig("sft", dataset_text_field="text", max_seq_length=512, gradient_checkpointing=True, bf16=True),
    train_dataset=load_dataset("json", data_files="chat.jsonl", split="train"),
    peft_config=LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"),
)
trainer.train()
