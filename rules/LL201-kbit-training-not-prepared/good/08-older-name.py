"""Fine: peft before 0.10 has the same function under its older name."""
# target: transformers==4.36.2 peft==0.7.1
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_int8_training
from transformers import LlamaForCausalLM, Trainer, TrainingArguments, default_data_collator

model = LlamaForCausalLM.from_pretrained("huggyllama/llama-7b", load_in_8bit=True, torch_dtype=torch.float16, device_map={"": 0})
model = prepare_model_for_int8_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("alpaca", per_device_train_batch_size=4, learning_rate=3e-4)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
