"""Fine: this append() is the project's own and returns the longer list."""
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


class Names:
    def __init__(self, *names):
        self.names = list(names)

    def append(self, name):
        return [*self.names, name]


config = LoraConfig(r=8, target_modules=Names("q_proj", "v_proj").append("o_proj"), task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config)
