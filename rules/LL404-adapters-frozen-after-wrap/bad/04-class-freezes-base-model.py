"""base_model of a wrapped model holds the adapters too, so freezing it freezes them."""
import torch
import transformers as tf
from peft import LoraConfig, TaskType, get_peft_model


class Tuner:
    def __init__(self, name, rank=8):
        self.tokenizer = tf.AutoTokenizer.from_pretrained(name)
        self.model = tf.AutoModelForCausalLM.from_pretrained(name)
        self.attach(rank)
        for _, weight in self.model.base_model.named_parameters():
            weight.requires_grad_(False)  # LL404

    def attach(self, rank):
        config = LoraConfig(task_type=TaskType.CAUSAL_LM, r=rank, target_modules=["q_proj", "v_proj"])
        self.model = get_peft_model(self.model, config)

    def fit(self, lines):
        self.model.train()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-4)
        for line in lines:
            batch = self.tokenizer(line, return_tensors="pt")
            loss = self.model(**batch, labels=batch["input_ids"]).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    tuner = Tuner("facebook/opt-350m")
    tuner.fit(open("train.txt").read().splitlines())
    tuner.model.save_pretrained("opt-lora")
