"""On the release that the project pins, the name is there."""
# target: peft==0.6.0 transformers==4.35.2

from peft import LoraConfig, get_peft_model, prepare_model_for_int8_training
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("gpt2", load_in_8bit=True)
model = get_peft_model(prepare_model_for_int8_training(base), LoraConfig(task_type="CAUSAL_LM"))
