"""The helper that joins a group is not used by this script."""
import torch.distributed as dist
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def join_group(backend="nccl"):
    dist.init_process_group(backend)


def main():
    model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=load_from_disk("tokenized")).train()


main()
