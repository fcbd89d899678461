"""Fine: the script does by hand what the preparation does: freeze, cast, input gradients, checkpointing."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

NAME = "huggyllama/llama-7b"
tok = AutoTokenizer.from_pretrained(NAME)
bnb = BitsAndBytesConfig(load_in_8bit=True)
model = AutoModelForCausalLM.from_pretrained(NAME, quantization_config=bnb, device_map={"": 0})
for param in model.parameters():
    param.requires_grad = False
    if param.ndim == 1:
        param.data = param.data.to(torch.float32)
model.gradient_checkpointing_enable()
model.enable_input_require_grads()


class CastOutputToFloat(torch.nn.Sequential):
    def forward(self, x):
        return super().forward(x.to(torch.float16)).to(torch.float32)


model.lm_head = CastOutputToFloat(model.lm_head)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
model.train()
for line in open("train.txt", encoding="utf-8"):
    batch = tok(line, return_tensors="pt").to(model.device)
    model(**batch, labels=batch["input_ids"]).loss.backward()
    opt.step()
    opt.zero_grad()
