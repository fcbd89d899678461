"""An 8-bit model refuses .cuda() on every release: bitsandbytes has already put it on the GPU."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, DataCollatorForSeq2Seq, Trainer, TrainingArguments

name = "facebook/opt-1.3b"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def encode(row):
    ids = tokenizer(row["text"], truncation=True, max_length=256)
    return {**ids, "labels": list(ids["input_ids"])}


rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.map(encode, remove_columns=rows.column_names)
args = TrainingArguments("opt-8bit", per_device_train_batch_size=4, learning_rate=2e-4, max_steps=200)
Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
model.save_pretrained("opt-8bit/adapter")
