"""The trainer has no configuration: one is made for what it no longer takes."""
# target: trl==1.16.0 transformers==5.24.0

from trl import SFTTrainer


def run(dataset):
    trainer = SFTTrainer("facebook/opt-350m", train_dataset=dataset, dataset_text_field="text")  # LL702
    trainer.train(model_path="checkpoint-100")  # LL702
