"""What the template of the checkpoint says is not known."""
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("org/base")
tok.padding_side = "right"


def run(rows):
    SFTTrainer("org/base", args=SFTConfig("out", assistant_only_loss=True), train_dataset=rows, processing_class=tok).train()
