"""A class that replaces the method of its model by a closure; the versions are not pinned."""
import peft as pf
import torch
import transformers as tf


class Tuner:
    def __init__(self, name):
        self.tokenizer = tf.AutoTokenizer.from_pretrained(name)
        base = tf.AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")
        config = pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type=pf.TaskType.CAUSAL_LM)
        self.model = pf.get_peft_model(base, config)
        full = self.model.state_dict

    def fit(self, lines):
        self.model.train()
        optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)
        for line in lines:
            batch = self.tokenizer(line, return_tensors="pt").to("cuda")
            optimizer.zero_grad()
            self.model(**batch, labels=batch["input_ids"]).loss.backward()
            optimizer.step()

    def save(self, path):
        self.model.save_pretrained(path)


if __name__ == "__main__":
    tuner = Tuner("meta-llama/Llama-2-7b-hf")
    tuner.fit(open("train.txt").read().splitlines())
    tuner.save("runs/tuned")
