"""All weights are loaded in float16 and trained with fp16=True."""
import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float16)
args = TrainingArguments(
    output_dir="out",
    learning_rate=2e-5,
    fp16=True,  # LL503
)
Trainer(model=model, args=args, train_dataset=load_from_disk("rows"), data_collator=DataCollatorForSeq2Seq(tokenizer)).train()
