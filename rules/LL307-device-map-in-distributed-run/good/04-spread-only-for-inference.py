"""The spread model writes answers and is not trained."""
import torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer

dist.init_process_group("nccl")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
judge = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
judge.eval()
ids = tokenizer("Rate this:", return_tensors="pt").to(judge.device)
print(tokenizer.decode(judge.generate(**ids)[0]))
