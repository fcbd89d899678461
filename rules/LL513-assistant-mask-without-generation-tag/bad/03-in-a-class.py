"""The template is a keyword of the loader."""
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer


class Tuner:
    template = "{%- for m in messages -%}[{{ m['role'] | upper }}] {{ m['content'] }}\n{%- endfor -%}"

    def __init__(self, name):
        self.name = name
        self.tok = AutoTokenizer.from_pretrained(name, chat_template=self.template)

    def fit(self, rows):
        kwargs = dict(output_dir="tuned", assistant_only_loss=True)  # LL513
        trainer = SFTTrainer(self.name, args=SFTConfig(**kwargs), train_dataset=rows, processing_class=self.tok)
        return trainer.train()


Tuner("org/base").fit([])
