"""A parallel bottleneck beside a frozen block, which sees a detached copy of the common input."""
import accelerate
import torch as th
import torch.nn as tnn
import transformers as tf
from torch.utils.data import DataLoader


class Beside(tnn.Module):
    def __init__(self, frozen, width, bottleneck=32):
        super().__init__()
        self.frozen = frozen
        for weight in self.frozen.parameters():
            weight.requires_grad_(False)
        self.side = tnn.Sequential(tnn.Linear(width, bottleneck), tnn.ReLU(), tnn.Linear(bottleneck, width))

    def forward(self, hidden):
        main = self.frozen(hidden.detach())  # LL104
        return th.add(main, self.side(hidden))


class Experiment:
    def __init__(self, name):
        self.acc = accelerate.Accelerator()
        self.tok = tf.AutoTokenizer.from_pretrained(name)
        self.net = tf.AutoModelForCausalLM.from_pretrained(name, torch_dtype=th.float32)
        self.net.requires_grad_(False)
        for block in self.net.gpt_neox.layers:
            block.mlp = Beside(block.mlp, self.net.config.hidden_size)

    def run(self, lines):
        opt = th.optim.AdamW([p for p in self.net.parameters() if p.requires_grad], lr=1e-3)
        loader = DataLoader(lines, batch_size=1, collate_fn=lambda texts: self.tok(texts, return_tensors="pt"))
        net, opt, loader = self.acc.prepare(self.net, opt, loader)
        net.train()
        for batch in loader:
            self.acc.backward(net(**batch, labels=batch["input_ids"]).loss)
            opt.step()
            opt.zero_grad()


if __name__ == "__main__":
    Experiment("EleutherAI/pythia-410m").run(open("train.txt", encoding="utf-8").read().splitlines())
