"""Fine: the script makes the adapter weights trainable itself."""
from datasets import load_dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments


def reopen(base_name, adapter):
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base_name), adapter)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.requires_grad_(True)
    return model


def main(name="Qwen/Qwen2.5-0.5B"):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = reopen(name, "runs/first")

    def encode(row):
        ids = tokenizer(row["text"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = TrainingArguments("runs/second", per_device_train_batch_size=4, max_steps=50)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()


if __name__ == "__main__":
    main()
