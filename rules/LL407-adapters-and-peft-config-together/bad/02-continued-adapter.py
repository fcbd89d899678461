"""A stored adapter is to be trained further, and the same configuration is passed once more."""
# target: transformers==5.0.0 trl==0.28.0 peft==0.18.1
import sys

from datasets import load_dataset
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def resume(base, adapter, data):
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter, is_trainable=True)
    SFTTrainer(
        model,
        args=SFTConfig(output_dir=adapter + "-2", learning_rate=5e-5),
        train_dataset=load_dataset("json", data_files=data, split="train"),
        processing_class=AutoTokenizer.from_pretrained(base),
        peft_config=LoraConfig(r=8, task_type="CAUSAL_LM"),  # LL407
    ).train()


resume(*sys.argv[1:4])
