"""The SFTTrainer of these releases masks padding by position, not by token."""
# target: trl>=0.17
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
tok.pad_token = tok.eos_token
train = load_dataset("tatsu-lab/alpaca", split="train").map(lambda row: {"text": row["output"] + tok.eos_token})
SFTTrainer("meta-llama/Llama-2-7b-hf", SFTConfig(output_dir="sft"), train_dataset=train, processing_class=tok).train()
