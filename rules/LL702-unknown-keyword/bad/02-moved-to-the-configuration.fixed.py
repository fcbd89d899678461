"""What SFTTrainer took itself stands in SFTConfig now."""
# target: trl==1.16.0 transformers==5.24.0 peft==0.21.2

from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

dataset = load_dataset("json", data_files="train.jsonl", split="train")
args = SFTConfig(output_dir="sft", num_train_epochs=1, dataset_text_field="text", packing=True, max_length=1024)
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B",
    args=args,
    train_dataset=dataset,
    peft_config=LoraConfig(task_type="CAUSAL_LM"),
)
trainer.train()
