"""The template is the script's own and marks nothing as the assistant's."""
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("org/base")
tok.chat_template = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
trainer = SFTTrainer(
    model="org/base",
    args=SFTConfig(output_dir="out", assistant_only_loss=True),  # LL513
    train_dataset=load_dataset("json", data_files="chats.jsonl", split="train"),
    processing_class=tok,
    peft_config=LoraConfig(task_type="CAUSAL_LM"),
)
trainer.train()
