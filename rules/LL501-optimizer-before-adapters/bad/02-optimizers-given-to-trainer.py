"""Decay and no-decay groups are collected from the base, then handed to a Trainer of the wrapped model."""
import fire
import peft as pf
import torch
import transformers as tf
from datasets import load_dataset


def grouped(net, decay):
    plain = [p for n, p in net.named_parameters() if n.endswith("bias") or "norm" in n.lower()]
    rest = [p for n, p in net.named_parameters() if not (n.endswith("bias") or "norm" in n.lower())]
    return [{"params": rest, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}]


def main(name="Qwen/Qwen2.5-0.5B", out="runs/sched", lr=2e-4, steps=200):
    tokenizer = tf.AutoTokenizer.from_pretrained(name)
    base = tf.AutoModelForCausalLM.from_pretrained(name)
    optimizer = torch.optim.AdamW(grouped(base, 0.01), lr=lr)  # LL501
    scheduler = tf.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    net = pf.get_peft_model(base, pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def encode(row):
        ids = tokenizer(row["text"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    trainer = tf.Trainer(
        model=net,
        args=tf.TrainingArguments(out, per_device_train_batch_size=4, max_steps=steps),
        train_dataset=rows,
        data_collator=tf.DataCollatorForSeq2Seq(tokenizer),
        optimizers=(optimizer, scheduler),
    )
    trainer.train()
    net.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(main)
