"""inference_mode=True in the config freezes the new adapter, so there is nothing to train."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
tokenizer.pad_token = tokenizer.unk_token
config = LoraConfig(
    task_type="CAUSAL_LM",
    inference_mode=False,  # LL403
    r=8,
    lora_alpha=32,
    lora_dropout=0.1,
    target_modules=["q_proj", "v_proj"],
)
model = get_peft_model(AutoModelForCausalLM.from_pretrained(name), config)


def encode(row):
    ids = tokenizer(row["text"], truncation=True, max_length=256)
    return {**ids, "labels": list(ids["input_ids"])}


rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.map(encode, remove_columns=rows.column_names)
args = TrainingArguments("out", per_device_train_batch_size=4, learning_rate=1e-4, num_train_epochs=1)
Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
