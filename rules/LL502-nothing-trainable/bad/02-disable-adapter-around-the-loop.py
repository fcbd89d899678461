"""Inside disable_adapter() the forward pass goes past the adapters, so their loss has no gradient."""
import peft as pf
import torch
import transformers as tf


class Tuner:
    def __init__(self, name):
        self.tok = tf.AutoTokenizer.from_pretrained(name)
        base = tf.AutoModelForCausalLM.from_pretrained(name).to("cuda")
        self.net = pf.get_peft_model(base, pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        self.opt = torch.optim.AdamW([p for p in self.net.parameters() if p.requires_grad], lr=1e-4)

    def loss(self, line):
        batch = self.tok(line, return_tensors="pt").to("cuda")
        return self.net(**batch, labels=batch["input_ids"]).loss

    def fit(self, lines):
        self.net.train()
        with self.net.disable_adapter():  # LL502
            for line in lines:
                self.opt.zero_grad()
                self.loss(line).backward()
                self.opt.step()


if __name__ == "__main__":
    tuner = Tuner("meta-llama/Llama-2-7b-hf")
    tuner.fit(open("train.txt").read().splitlines())
    tuner.net.save_pretrained("unchanged")
