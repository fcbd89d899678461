"""Fine: an adapter made in inference mode, filled with the stored weights and used for evaluation only."""
import torch
from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer


class Evaluator:
    def __init__(self, name, weights):
        config = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", inference_mode=True)
        self.model = get_peft_model(AutoModelForCausalLM.from_pretrained(name), config)
        set_peft_model_state_dict(self.model, load_file(weights))
        self.model.to("cuda").eval()
        self.tokenizer = AutoTokenizer.from_pretrained(name)

    @torch.no_grad()
    def loss(self, text):
        batch = self.tokenizer(text, return_tensors="pt").to("cuda")
        return self.model(**batch, labels=batch["input_ids"]).loss.item()


if __name__ == "__main__":
    evaluator = Evaluator("Qwen/Qwen2.5-0.5B", "runs/first/adapter_model.safetensors")
    for line in open("lines.txt"):
        print(evaluator.loss(line.strip()))
