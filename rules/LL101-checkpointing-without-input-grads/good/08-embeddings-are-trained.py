"""Fine: the embeddings are among the trained modules, so the block inputs require grad by themselves."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

config = LoraConfig(
    r=8,
    target_modules=["q_proj", "v_proj"],
    modules_to_save=["embed_tokens", "lm_head"],
    task_type="CAUSAL_LM",
)
model = get_peft_model(AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1"), config)
args = TrainingArguments("out", gradient_checkpointing=True, bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
