"""Fine: the settings hold the flag, and it is popped before the rest reaches from_pretrained."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator

settings = {"load_in_8bit": True, "device_map": {"": 0}, "trust_remote_code": False}
quantized = settings.pop("load_in_8bit")
model = AutoModelForCausalLM.from_pretrained(
    "huggyllama/llama-7b",
    quantization_config=BitsAndBytesConfig(load_in_8bit=quantized),
    **settings,
)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
