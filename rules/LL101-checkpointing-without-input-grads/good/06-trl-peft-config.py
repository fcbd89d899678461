"""Fine: SFTTrainer wraps the model itself and enables the input gradients on the way."""
# target: transformers==4.44.2 peft==0.12.0 trl==0.11.4
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype="bfloat16")
trainer = SFTTrainer(
    model=model,
    args=SFTConfig("sft", gradient_checkpointing=True, dataset_text_field="text", max_seq_length=512, bf16=True),
    train_dataset=load_dataset("json", data_files="chat.jsonl", split="train"),
    peft_config=LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"),
)
trainer.train()
