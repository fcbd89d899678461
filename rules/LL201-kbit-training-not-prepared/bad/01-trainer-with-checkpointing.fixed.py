"""A 4-bit base is wrapped without preparation and trained with checkpointing: the first backward pass crashes."""
# target: transformers==4.44.2 peft==0.12.0 bitsandbytes==0.43.3
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

BASE = "mistralai/Mistral-7B-v0.1"

tokenizer = AutoTokenizer.from_pretrained(BASE)
tokenizer.pad_token = tokenizer.unk_token
bnb_config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained(BASE, quantization_config=bnb_config, device_map={"": 0}, torch_dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))  # LL201

data = load_dataset("json", data_files="notes.jsonl", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=512), remove_columns=data.column_names)
args = TrainingArguments("notes-qlora", gradient_checkpointing=True, per_device_train_batch_size=4, bf16=True)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
Trainer(model=model, args=args, train_dataset=data, data_collator=collator).train()
model.save_pretrained("notes-qlora")
