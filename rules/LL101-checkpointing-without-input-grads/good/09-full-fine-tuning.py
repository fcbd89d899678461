"""Fine: nothing is frozen, the embeddings are trained like the rest."""
# target: transformers==4.44.2
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-410m")
model.gradient_checkpointing_enable()
args = TrainingArguments("full", gradient_checkpointing=True, learning_rate=1e-5)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
