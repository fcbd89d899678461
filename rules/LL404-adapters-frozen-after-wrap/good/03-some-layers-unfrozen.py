"""Fine: everything is frozen, then the last layers are switched on again before the optimizer is built."""
import torch
import transformers as tf

tokenizer = tf.AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = tf.AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
model.requires_grad_(False)
for layer in model.model.layers[-2:]:
    layer.requires_grad_(True)
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
