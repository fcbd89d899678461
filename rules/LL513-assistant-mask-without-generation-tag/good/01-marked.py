"""The template marks what the assistant says."""
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("org/base")
tok.chat_template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"


def run(rows):
    SFTTrainer("org/base", args=SFTConfig("out", assistant_only_loss=True), train_dataset=rows, processing_class=tok).train()
