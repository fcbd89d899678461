"""The argument was renamed, and the old name is gone."""
# target: transformers==5.24.0 peft==0.21.2

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    eval_strategy="steps",  # LL702
    eval_steps=100,
)
model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model=model, args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)
trainer.train()
