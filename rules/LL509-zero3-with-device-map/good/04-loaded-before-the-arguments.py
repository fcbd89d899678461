"""The model is loaded before the configuration exists, so that nothing refuses the map; it names one GPU."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": "cpu"})
ds = {"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
