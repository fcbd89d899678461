"""Even load_in_8bit=False is an unexpected keyword on transformers 5, which an unpinned install gets."""
import fire
import torch
import transformers
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model


def train(base: str = "mistralai/Mistral-7B-v0.1", data: str = "packed", out: str = "mistral-lora"):
    model = transformers.AutoModelForCausalLM.from_pretrained(base, torch_dtype=torch.bfloat16)  # LL203
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(output_dir=out, bf16=True),
        train_dataset=load_from_disk(data),
        data_collator=transformers.default_data_collator,
    )
    trainer.train()
    model.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(train)
