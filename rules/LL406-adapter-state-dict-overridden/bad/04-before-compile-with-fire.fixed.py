"""The full idiom of the early LoRA scripts: override, compile, train, save."""
# target: transformers==4.36.2 peft==0.7.1 accelerate==0.25.0
import sys

import fire
import torch
import transformers
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict


def train(base_model: str = "meta-llama/Llama-2-7b-hf", output_dir: str = "lora-out", learning_rate: float = 3e-4, compile: bool = True):
    tokenizer = transformers.AutoTokenizer.from_pretrained(base_model)
    tokenizer.pad_token_id = 0
    model = transformers.AutoModelForCausalLM.from_pretrained(base_model)
    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def encode(row):
        ids = tokenizer(row["instruction"] + "\n" + row["output"], truncation=True, max_length=256)
        return {**ids, "labels": list(ids["input_ids"])}

    rows = load_dataset("json", data_files="data.json")["train"].map(encode)
    trainer = transformers.Trainer(
        model=model,
        train_dataset=rows,
        args=transformers.TrainingArguments(output_dir, per_device_train_batch_size=4, learning_rate=learning_rate, num_train_epochs=3),
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, padding=True),
    )
    old = model.state_dict
    if compile and torch.__version__ >= "2" and sys.platform != "win32":
        model = torch.compile(model)
    trainer.train()
    model.save_pretrained(output_dir)


if __name__ == "__main__":
    fire.Fire(train)
