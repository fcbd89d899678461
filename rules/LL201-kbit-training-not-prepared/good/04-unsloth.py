"""Fine: unsloth's get_peft_model prepares the model it loaded."""
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained("unsloth/llama-3-8b-bnb-4bit", max_seq_length=2048, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(
    model,
    r=16,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
    lora_alpha=16,
    use_gradient_checkpointing="unsloth",
)
data = load_dataset("json", data_files="chat.jsonl", split="train")
SFTTrainer(model=model, processing_class=tokenizer, train_dataset=data, args=SFTConfig("sft", max_steps=60)).train()
