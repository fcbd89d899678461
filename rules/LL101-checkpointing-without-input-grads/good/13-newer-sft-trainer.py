"""Fine: from trl 0.20.0 on SFTTrainer enables input gradients for a model that is wrapped already."""
# target: transformers==4.57.6 peft==0.18.1 trl==0.24.0
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype="bfloat16")
model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
args = SFTConfig("sft", gradient_checkpointing=True, max_length=512)
SFTTrainer(model=model, args=args, train_dataset=load_dataset("json", data_files="chat.jsonl", split="train")).train()
