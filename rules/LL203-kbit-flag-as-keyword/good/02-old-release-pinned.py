"""Fine on the pinned release: the keyword is deprecated from 4.38 and works up to 4.57."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", load_in_4bit=True, device_map={"": 0})
model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
