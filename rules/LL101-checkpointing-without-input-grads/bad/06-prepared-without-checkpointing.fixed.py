"""The preparation was told to leave checkpointing alone, so it left the inputs alone too; the Trainer turns it on."""
# target: transformers==4.48.3 peft==0.14.0 bitsandbytes==0.45.5
import fire
import torch
import transformers
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training


def train(base: str = "mistralai/Mistral-7B-v0.1", data: str = "alpaca.json", out: str = "alpaca-qlora", cutoff: int = 384):
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    tokenizer.pad_token = tokenizer.unk_token
    bnb = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, quantization_config=bnb, device_map={"": 0})
    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    rows = load_dataset("json", data_files=data)["train"]
    rows = rows.map(lambda r: tokenizer(r["instruction"] + r["output"], truncation=True, max_length=cutoff), remove_columns=rows.column_names)
    args = transformers.TrainingArguments(
        output_dir=out,
        per_device_train_batch_size=8,
        bf16=True,
        gradient_checkpointing=True,  # LL101
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)
    transformers.Trainer(model=model, args=args, train_dataset=rows, data_collator=collator).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(train)
