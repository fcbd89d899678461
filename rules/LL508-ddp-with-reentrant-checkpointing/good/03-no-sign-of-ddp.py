"""Nothing shows that there is more than one process."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
args = TrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
