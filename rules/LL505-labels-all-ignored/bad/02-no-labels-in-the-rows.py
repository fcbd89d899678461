"""The rows have ids and a mask, and padding adds no labels."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
data = load_dataset("text", data_files="notes.txt", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=256), remove_columns=data.column_names)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
trainer = Trainer(  # LL505
    model=model,
    args=TrainingArguments("notes", per_device_train_batch_size=4),
    train_dataset=data,
    data_collator=DataCollatorWithPadding(tokenizer),
)
trainer.train()
