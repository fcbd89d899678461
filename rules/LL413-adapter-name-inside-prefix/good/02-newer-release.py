"""Fine: this release keeps such a name apart."""
# target: transformers==4.57.6 peft==0.18.1
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

config = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config, adapter_name="lora")
Trainer(model=model, args=TrainingArguments("out")).train()
model.save_pretrained("out")
