"""save_pretrained() filters the adapter itself; what it gets from this override has already lost the adapter's name."""
# target: transformers==4.44.2 peft==0.12.0 accelerate==0.33.0
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
tokenizer.pad_token = tokenizer.unk_token
model = AutoModelForCausalLM.from_pretrained(name)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def encode(row):
    ids = tokenizer(row["text"], truncation=True, max_length=256)
    return {**ids, "labels": list(ids["input_ids"])}


rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.map(encode, remove_columns=rows.column_names)
args = TrainingArguments("out", per_device_train_batch_size=4, learning_rate=3e-4, num_train_epochs=1)
trainer = Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer))

old_state_dict = model.state_dict
trainer.train()
model.save_pretrained("out/adapter")
