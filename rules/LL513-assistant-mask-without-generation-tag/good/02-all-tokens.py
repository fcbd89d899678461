"""All tokens get labels, and no mark is needed."""
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("org/base")
tok.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"


def run(rows):
    SFTTrainer("org/base", args=SFTConfig("out"), train_dataset=rows, processing_class=tok).train()
