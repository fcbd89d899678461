"""Fine: after torch.set_default_device() the factories of torch make their tensors on the GPU."""
import torch
from transformers import AutoModelForCausalLM

torch.set_default_device("cuda")
model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2").to("cuda").eval()
tokens = [[464, 3139, 286, 4881, 318], [1212, 318, 257, 1332, 13]]
with torch.no_grad():
    for row in tokens:
        ids = torch.tensor([row])
        print(model(input_ids=ids, labels=ids).loss.item())
