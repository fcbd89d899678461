"""Fine: the filtered tensors go into a file of their own, the method of the model is only called."""
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def checkpoint(model, step):
    state_dict = model.state_dict()
    tensors = get_peft_model_state_dict(model, state_dict)
    save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, f"adapter-{step}.safetensors")


def main(name="Qwen/Qwen2.5-0.5B"):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for step, line in enumerate(open("train.txt")):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            checkpoint(model, step)
    model.save_pretrained("runs/final")


if __name__ == "__main__":
    main()
