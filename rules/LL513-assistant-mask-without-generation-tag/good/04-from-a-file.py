"""The template is read from a file."""
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("org/base")
tok.chat_template = open("chat.jinja").read()


def run(rows):
    SFTTrainer("org/base", args=SFTConfig("out", assistant_only_loss=True), train_dataset=rows, processing_class=tok).train()
