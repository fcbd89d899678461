"""Fine: prepare_model_for_kbit_training turns checkpointing and the input gradients on; the Trainer only repeats it."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator

bnb = BitsAndBytesConfig(load_in_8bit=True)
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", quantization_config=bnb, device_map={"": 0})
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", gradient_checkpointing=True, bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
