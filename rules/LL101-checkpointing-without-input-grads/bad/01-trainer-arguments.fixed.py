"""The Trainer switches reentrant checkpointing on after the base was frozen: no block input requires grad."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

BASE = "meta-llama/Llama-2-7b-hf"

tokenizer = AutoTokenizer.from_pretrained(BASE)
tokenizer.pad_token = tokenizer.unk_token
model = AutoModelForCausalLM.from_pretrained(BASE, torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.print_trainable_parameters()

notes = load_dataset("json", data_files="notes.jsonl", split="train")
notes = notes.map(lambda row: tokenizer(row["text"], truncation=True, max_length=512), remove_columns=notes.column_names)

trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="notes-lora",
        per_device_train_batch_size=4,
        gradient_checkpointing=True,  # LL101
        learning_rate=1e-4,
        bf16=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
    ),
    train_dataset=notes,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
)
trainer.train()
model.save_pretrained("notes-lora")
