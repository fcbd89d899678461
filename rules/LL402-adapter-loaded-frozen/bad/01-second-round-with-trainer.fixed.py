"""A second round of training on an adapter that from_pretrained() has loaded for inference, which is its default."""
from datasets import load_dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
tokenizer.pad_token = tokenizer.unk_token
base = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
model = PeftModel.from_pretrained(base, "runs/round1", is_trainable=True)  # LL402


def encode(row):
    ids = tokenizer(row["text"], truncation=True, max_length=256)
    return {**ids, "labels": list(ids["input_ids"])}


rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.map(encode, remove_columns=rows.column_names)
args = TrainingArguments("runs/round2", per_device_train_batch_size=4, learning_rate=1e-4, num_train_epochs=1)
Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
model.save_pretrained("runs/round2/adapter")
