"""Fine: the carried memory is detached between segments on purpose; each segment's own loss stays attached."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModel, AutoTokenizer

tok = AutoTokenizer.from_pretrained("bert-base-uncased")
encoder = AutoModel.from_pretrained("bert-base-uncased")
encoder = get_peft_model(encoder, LoraConfig(r=8, target_modules=["query", "value"])).to("cuda")
width = encoder.config.hidden_size
head = torch.nn.GRUCell(width, width).to("cuda")
params = [p for p in encoder.parameters() if p.requires_grad] + list(head.parameters())
opt = torch.optim.AdamW(params, lr=1e-4)
memory = torch.zeros(1, width, device="cuda")
encoder.train()
for line in open("segments.txt", encoding="utf-8"):
    enc = tok(line, return_tensors="pt", truncation=True).to("cuda")
    state = encoder(**enc).last_hidden_state[:, 0]
    memory = head(state, memory)
    loss = (memory - state).pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    memory = memory.detach()
