"""The prepared base makes its inputs require grad, so nothing crashes: the loss moves, the frozen adapter does not."""
import fire
import peft as pf
import torch
import transformers as tf
from datasets import load_dataset


def get_model(base, adapter):
    quantization = tf.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    model = tf.AutoModelForCausalLM.from_pretrained(base, quantization_config=quantization)
    model = pf.prepare_model_for_kbit_training(model)
    return pf.PeftModel.from_pretrained(model, adapter, adapter_name="default", is_trainable=True)  # LL402


def main(base="meta-llama/Llama-2-7b-hf", adapter="runs/first", out="runs/second"):
    tokenizer = tf.AutoTokenizer.from_pretrained(base)
    tokenizer.pad_token = tokenizer.eos_token
    model = get_model(base, adapter)

    def encode(row):
        ids = tokenizer(row["prompt"] + row["completion"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="rows.jsonl", split="train")
    rows = rows.map(encode, remove_columns=rows.column_names)
    args = tf.TrainingArguments(out, per_device_train_batch_size=2, learning_rate=2e-4, bf16=True, num_train_epochs=1)
    trainer = tf.Trainer(model=model, args=args, train_dataset=rows, data_collator=tf.DataCollatorForSeq2Seq(tokenizer))
    trainer.train()
    model.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(main)
