"""merge_and_unload() folds the first adapter into the base, which stays frozen: the second stage has nothing to train."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
tokenizer.pad_token = tokenizer.unk_token


def encode(row):
    ids = tokenizer(row["text"], truncation=True, max_length=256)
    return {**ids, "labels": list(ids["input_ids"])}


def stage(model, file, out):
    rows = load_dataset("json", data_files=file, split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = TrainingArguments(out, per_device_train_batch_size=4, learning_rate=1e-4, num_train_epochs=1)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()


model = AutoModelForCausalLM.from_pretrained(name)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
stage(model, "rows.jsonl", "stage1")
model = model.merge_and_unload()  # LL502
stage(model, "data.jsonl", "stage2")
