"""With transformers' own add_adapter the order is the other way round: checkpointing must come after it."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "EleutherAI/pythia-410m"
tok = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name).cuda()
model.gradient_checkpointing_enable()  # LL101
model.enable_input_require_grads()
model.add_adapter(LoraConfig(r=8, target_modules=["query_key_value"]))

opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
model.train()
for line in open("lines.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.cuda()
    out = model(input_ids=ids, labels=ids)
    out.loss.backward()
    opt.step()
    opt.zero_grad()
    print(float(out.loss))
model.save_pretrained("pythia-adapter")
