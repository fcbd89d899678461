"""The trainer has no configuration: one is made for what it no longer takes."""
# target: trl==1.16.0 transformers==5.24.0

from trl import SFTConfig, SFTTrainer


def run(dataset):
    trainer = SFTTrainer("facebook/opt-350m", train_dataset=dataset, args=SFTConfig(dataset_text_field="text"))  # LL702
    trainer.train(resume_from_checkpoint="checkpoint-100")  # LL702
