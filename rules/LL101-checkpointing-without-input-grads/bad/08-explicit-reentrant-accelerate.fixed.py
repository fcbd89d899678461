"""An accelerate loop asks for the reentrant kind by name; which releases it runs on is not pinned anywhere."""
from accelerate import Accelerator
from peft import LoraConfig, inject_adapter_in_model
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def collate_with(tokenizer):
    def collate(texts):
        batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=512)
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch

    return collate


def main(name="huggyllama/llama-7b"):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    tokenizer = AutoTokenizer.from_pretrained(name)
    tokenizer.pad_token = tokenizer.unk_token
    model = AutoModelForCausalLM.from_pretrained(name)
    model = inject_adapter_in_model(LoraConfig(r=4, target_modules=["q_proj", "v_proj"]), model)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})  # LL101
    model.enable_input_require_grads()
    optimizer = AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    texts = open("train.txt", encoding="utf-8").read().splitlines()
    loader = DataLoader(texts, batch_size=4, shuffle=True, collate_fn=collate_with(tokenizer))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    accelerator.unwrap_model(model).save_pretrained("injected")


if __name__ == "__main__":
    main()
