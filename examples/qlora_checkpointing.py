"""Fine-tunes a 4-bit model with LoRA adapters and gradient checkpointing."""

import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

MODEL = "meta-llama/Llama-3.2-1B"

quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(MODEL, quantization_config=quantization, device_map={"": 0})

lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(model, lora)

data = load_dataset("Abirate/english_quotes", split="train")
data = data.map(lambda row: tokenizer(row["quote"], truncation=True, max_length=512), remove_columns=data.column_names)

trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="outputs",
        per_device_train_batch_size=4,
        gradient_checkpointing=True,
        learning_rate=2e-4,
        num_train_epochs=1,
        bf16=True,
    ),
    train_dataset=data,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
)
trainer.train()
model.save_pretrained("outputs/adapter")
