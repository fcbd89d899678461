"""Fine: this LoraConfig is a dataclass of the script; its inference_mode never reaches PEFT."""
import dataclasses

import peft
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclasses.dataclass
class LoraConfig:
    rank: int = 8
    inference_mode: bool = False

    def build(self):
        return peft.LoraConfig(r=self.rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


settings = LoraConfig(rank=16, inference_mode=True)
tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.bfloat16)
model = peft.get_peft_model(model, settings.build()).to("cuda")
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
