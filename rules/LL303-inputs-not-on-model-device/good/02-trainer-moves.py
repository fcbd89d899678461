"""Fine: the Trainer moves every batch to its own device before the forward pass."""
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


class Blocks(Dataset):
    def __init__(self, tokenizer, path, length=32):
        ids = tokenizer(open(path).read(), return_tensors="pt").input_ids[0]
        self.rows = ids[: len(ids) // length * length].view(-1, length)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        return (outputs.loss * 0.5, outputs) if return_outputs else outputs.loss * 0.5


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float32).to("cuda")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    args = TrainingArguments("blocks", per_device_train_batch_size=2, learning_rate=1e-4, num_train_epochs=1)
    WeightedTrainer(model=model, args=args, train_dataset=Blocks(tokenizer, "train.txt")).train()
