"""Every text ends in the EOS, but the collator takes its label away, because padding is the EOS too."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

base = "mistralai/Mistral-7B-v0.1"
tokenizer = AutoTokenizer.from_pretrained(base)
tokenizer.pad_token = tokenizer.eos_token


def tokenize(example):
    text = f"### Question: {example['question']}\n### Answer: {example['answer']}" + tokenizer.eos_token
    return tokenizer(text, truncation=True, max_length=512)


data = load_dataset("json", data_files="faq.jsonl", split="train")
data = data.map(tokenize, remove_columns=data.column_names)
model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(r=16, task_type="CAUSAL_LM"))
trainer = Trainer(
    model=model,
    args=TrainingArguments("faq", per_device_train_batch_size=4, num_train_epochs=3),
    train_dataset=data,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),  # LL506
)
trainer.train()
