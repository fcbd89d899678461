"""The map hides in a dict of loading options; the Trainer script moves the base before it attaches the adapter."""
import peft as pf
import torch
import transformers as tf
from datasets import load_dataset

LOADING = {"torch_dtype": torch.bfloat16, "device_map": "auto", "low_cpu_mem_usage": True}


def base_model(name):
    return tf.AutoModelForCausalLM.from_pretrained(name, **LOADING)  # LL301


def train(name, out):
    tok = tf.AutoTokenizer.from_pretrained(name)
    tok.pad_token = tok.eos_token
    net = pf.get_peft_model(base_model(name), pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def encode(row):
        ids = tok(row["text"], truncation=True, max_length=512)
        ids["labels"] = list(ids["input_ids"])
        return ids

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = tf.TrainingArguments(out, per_device_train_batch_size=2, learning_rate=1e-4, num_train_epochs=1)
    trainer = tf.Trainer(model=net, args=args, train_dataset=rows, data_collator=tf.DataCollatorForSeq2Seq(tok))
    trainer.train()
    net.save_pretrained(out)


if __name__ == "__main__":
    train("mistralai/Mistral-7B-v0.1", "runs/mapped")
