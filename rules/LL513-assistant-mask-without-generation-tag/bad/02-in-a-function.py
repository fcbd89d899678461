"""A ChatML template from a constant, in a function with the settings spelt out."""
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def run(dataset, base="org/base"):
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = CHATML
    settings = SFTConfig(
        output_dir="chatml",
        max_length=4096,
        assistant_only_loss=True,  # LL513
        learning_rate=1e-4,
    )
    SFTTrainer(AutoModelForCausalLM.from_pretrained(base), settings, train_dataset=dataset, processing_class=tokenizer).train()
