"""PEFT 0.10.0 removed prepare_model_for_int8_training; its successor takes 8-bit and 4-bit bases."""
# target: peft==0.12.0 transformers==4.44.2

from peft import LoraConfig, get_peft_model, prepare_model_for_int8_training  # LL701
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

quantization = BitsAndBytesConfig(load_in_8bit=True)
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=quantization, device_map="auto")
model = prepare_model_for_int8_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
