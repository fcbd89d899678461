"""Each process sees one GPU alone, so that "auto" can mean no other."""
import os

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]

from datasets import load_from_disk  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments  # noqa: E402

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=TrainingArguments("out"), train_dataset=load_from_disk("tokenized")).train()
