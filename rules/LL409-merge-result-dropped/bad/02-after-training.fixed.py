"""After training, in a function: merged for the upload, and the upload holds nothing."""
import argparse

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def main(args):
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model = AutoModelForCausalLM.from_pretrained(args.base)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    rows = load_dataset("json", data_files=args.data, split="train")
    trainer = Trainer(
        model=model,
        args=TrainingArguments(args.out, learning_rate=1e-4),
        train_dataset=rows.map(lambda r: tokenizer(r["text"], truncation=True), remove_columns=rows.column_names),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    trainer.train()
    if args.merge:
        model = model.merge_and_unload(safe_merge=True)  # LL409
    model.push_to_hub(args.repo)


parser = argparse.ArgumentParser()
parser.add_argument("--base", default="Qwen/Qwen2.5-0.5B")
parser.add_argument("--data", default="train.jsonl")
parser.add_argument("--out", default="out")
parser.add_argument("--repo", default="me/model")
parser.add_argument("--merge", action="store_true")
main(parser.parse_args())
