"""Fine: the map takes the index of the process and the inputs take the device of the same process."""
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer

accelerator = Accelerator()
tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", device_map={"": accelerator.process_index}).eval()
with accelerator.split_between_processes(open("prompts.txt").read().splitlines()) as prompts, torch.no_grad():
    for prompt in prompts:
        inputs = tokenizer(prompt, return_tensors="pt").to(accelerator.device)
        print(tokenizer.decode(model.generate(**inputs, max_new_tokens=16)[0], skip_special_tokens=True))
