"""The SFTTrainer of these releases pads and masks as the language modeling collator does."""
# target: trl==0.11.4
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tok = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
if tok.pad_token is None:
    tok.pad_token = tok.eos_token

to_text = lambda row: {"text": "{}\n{}{}".format(row["instruction"], row["output"], tok.eos_token)}
train = load_dataset("tatsu-lab/alpaca", split="train").map(to_text)
trainer = SFTTrainer(  # LL506
    "meta-llama/Llama-2-7b-hf",
    SFTConfig(output_dir="sft", dataset_text_field="text", max_seq_length=1024),
    train_dataset=train,
    tokenizer=tok,
    peft_config=LoraConfig(r=16, task_type="CAUSAL_LM"),
)
trainer.train()
