"""The method that embeds a batch is decorated with inference_mode, and its result is trained on."""
import peft as pf
import torch
import torch.nn.functional as F
import transformers as tf


class Retriever:
    def __init__(self, name="bert-base-uncased"):
        self.tok = tf.AutoTokenizer.from_pretrained(name)
        encoder = tf.AutoModel.from_pretrained(name)
        self.encoder = pf.get_peft_model(encoder, pf.LoraConfig(r=8, target_modules=["query", "value"])).to("cuda")

    def embed(self, texts):
        enc = self.tok(texts, padding=True, truncation=True, return_tensors="pt").to("cuda")
        return F.normalize(self.encoder(**enc).last_hidden_state[:, 0], dim=-1)

    def fit(self, pairs, batch_size=32):
        opt = torch.optim.AdamW([p for p in self.encoder.parameters() if p.requires_grad], lr=2e-5)
        self.encoder.train()
        for start in range(0, len(pairs), batch_size):
            left, right = zip(*pairs[start : start + batch_size])
            scores = self.embed(list(left)) @ self.embed(list(right)).T / 0.05
            loss = F.cross_entropy(scores, torch.arange(len(left), device=scores.device))
            loss.backward()
            opt.step()
            opt.zero_grad()
        self.encoder.save_pretrained("retriever")


if __name__ == "__main__":
    Retriever().fit([row.rstrip("\n").split("\t") for row in open("pairs.tsv", encoding="utf-8")])
