"""Fine on these releases: accelerate up to 1.1.1 puts hooks on every bitsandbytes model with a map, and they move the inputs."""
# target: transformers==4.57.1 peft==0.17.1 accelerate==1.1.1 bitsandbytes==0.46.1
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

name = "mistralai/Mistral-7B-v0.1"
quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained(name, quantization_config=quantization, device_map="auto").eval()
tokenizer = AutoTokenizer.from_pretrained(name)
for line in open("lines.txt"):
    ids = tokenizer(line.strip(), return_tensors="pt").input_ids
    with torch.no_grad():
        print(model(input_ids=ids, labels=ids).loss.item())
