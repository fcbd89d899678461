"""Fine: the merge comes after the training and only serves the export."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments


def main(name="Qwen/Qwen2.5-0.5B", out="runs/merged"):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def encode(row):
        ids = tokenizer(row["text"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = TrainingArguments(out, per_device_train_batch_size=4, max_steps=50)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
    model = model.merge_and_unload()
    model.save_pretrained(out)


if __name__ == "__main__":
    main()
