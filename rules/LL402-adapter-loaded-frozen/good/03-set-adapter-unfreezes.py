"""Fine: from peft 0.6.0 on set_adapter() makes the adapter that it activates trainable."""
# target: transformers==4.44.2 peft==0.12.0 accelerate==0.33.0
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(base_name, general, special):
    base = AutoModelForCausalLM.from_pretrained(base_name, torch_dtype=torch.bfloat16)
    model = PeftModel.from_pretrained(base, general, adapter_name="general")
    model.load_adapter(special, adapter_name="special")
    model.set_adapter("special")
    return model.to("cuda")


if __name__ == "__main__":
    model = load("meta-llama/Llama-2-7b-hf", "runs/general", "runs/special")
    tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
