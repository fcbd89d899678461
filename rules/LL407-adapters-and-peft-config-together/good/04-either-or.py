"""Fine: peft_config is None where the model is wrapped by hand."""
import argparse

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--wrap-by-hand", action="store_true")
args = parser.parse_args()
config = LoraConfig(r=16, task_type="CAUSAL_LM")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
if args.wrap_by_hand:
    model = get_peft_model(model, config)
trainer = SFTTrainer(
    model=model,
    args=SFTConfig("out"),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=None if args.wrap_by_hand else config,
)
trainer.train()
