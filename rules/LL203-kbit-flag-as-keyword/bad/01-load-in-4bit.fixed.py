"""transformers 5 removed the keyword: from_pretrained hands it to the model's __init__, which does not know it."""
# target: transformers==5.0.0 peft==0.18.1
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained(
    "huggyllama/llama-7b",
    quantization_config=BitsAndBytesConfig(load_in_4bit=True),  # LL203
    device_map={"": 0},
)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
trainer = Trainer(
    model=model,
    args=TrainingArguments("llama-qlora", per_device_train_batch_size=4, bf16=True),
    train_dataset=load_from_disk("packed"),
    data_collator=default_data_collator,
)
trainer.train()
