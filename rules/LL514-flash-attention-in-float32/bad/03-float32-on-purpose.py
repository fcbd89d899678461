"""float32 is asked for by name, with the older keyword, in a class."""
# target: transformers==4.36.2
import torch
from transformers import LlamaForCausalLM


class Model:
    def __init__(self, path):
        options = {"torch_dtype": torch.float32}
        self.net = LlamaForCausalLM.from_pretrained(path, use_flash_attention_2=True, **options).cuda()  # LL514

    def complete(self, ids):
        return self.net.generate(input_ids=ids, max_new_tokens=20)


Model("meta-llama/Llama-3.2-1B").complete(torch.ones(1, 4, dtype=torch.long, device="cuda"))
