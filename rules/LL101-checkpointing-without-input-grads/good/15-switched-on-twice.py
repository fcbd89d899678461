"""Fine: checkpointing was on before the wrap, so PEFT made the inputs require grad; that the Trainer switches it on again changes nothing."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model.gradient_checkpointing_enable()
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", gradient_checkpointing=True, per_device_train_batch_size=2)
Trainer(model=model, args=args, train_dataset=load_from_disk("rows")).train()
