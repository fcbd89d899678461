"""Fine: the frozen adapter is loaded after training, to look at what came out."""
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("runs/out")
del model

base = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
model = PeftModel.from_pretrained(base, "runs/out").to("cuda").eval()
inputs = tokenizer("In short,", return_tensors="pt").to("cuda")
with torch.no_grad():
    print(tokenizer.decode(model.generate(**inputs, max_new_tokens=16)[0]))
