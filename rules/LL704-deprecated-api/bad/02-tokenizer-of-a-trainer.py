"""The trainer of the pinned release takes the tokenizer under its old name."""
# target: transformers==4.48.3 trl==0.14.0 peft==0.14.0

from trl import SFTConfig, SFTTrainer


def train(model, tokenizer, dataset):
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig("out", max_seq_length=512),  # LL704 note
        train_dataset=dataset,
        tokenizer=tokenizer,  # LL704 note
    )
    trainer.train()
