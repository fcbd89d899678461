"""All of these are fields of the newest release."""

from peft import LoraConfig, PromptTuningConfig

lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.1, bias="none", use_rslora=True, target_modules="all-linear", task_type="CAUSAL_LM")
prompt = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=20, tokenizer_name_or_path="gpt2")
