"""Fine: IA3 adds layers of other names."""
# target: transformers==4.44.2 peft==0.12.0
from peft import IA3Config, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

config = IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config, adapter_name="lora")
Trainer(model=model, args=TrainingArguments("out")).train()
model.save_pretrained("out")
