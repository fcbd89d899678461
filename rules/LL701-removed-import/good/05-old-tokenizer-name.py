"""transformers 5 has no class of this name, but finds the one that replaces it."""
# target: transformers==5.24.0

from transformers import LlamaForCausalLM, LlamaTokenizerFast

tokenizer = LlamaTokenizerFast.from_pretrained("huggyllama/llama-7b")
model = LlamaForCausalLM.from_pretrained("huggyllama/llama-7b")
