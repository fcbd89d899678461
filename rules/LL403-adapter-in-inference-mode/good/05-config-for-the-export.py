"""Fine: the config in inference mode is written for the serving side; another one is trained."""
import dataclasses

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments


@dataclasses.dataclass
class Settings:
    name: str = "Qwen/Qwen2.5-0.5B"
    out: str = "runs/export"
    rank: int = 8


def lora(settings, serving=False):
    return LoraConfig(r=settings.rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", inference_mode=serving)


def train(settings):
    tokenizer = AutoTokenizer.from_pretrained(settings.name)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(settings.name), lora(settings))

    def encode(row):
        ids = tokenizer(row["text"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = TrainingArguments(settings.out, per_device_train_batch_size=4, max_steps=50)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
    model.save_pretrained(settings.out)


if __name__ == "__main__":
    train(Settings())
    lora(Settings(), serving=True).save_pretrained("runs/export/serving")
