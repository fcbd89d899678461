"""Fine: the folder is called lora, the adapter has the default name."""
# target: transformers==4.44.2 peft==0.12.0
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

config = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config)
Trainer(model=model, args=TrainingArguments("out/lora")).train()
model.save_pretrained("out/lora")
