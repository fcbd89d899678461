"""The import is tried, and there is something to fall back on."""

try:
    from peft import prepare_model_for_int8_training as prepare
except ImportError:
    from peft import prepare_model_for_kbit_training as prepare

from transformers import AutoModelForCausalLM, BitsAndBytesConfig

model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=BitsAndBytesConfig(load_in_8bit=True))
model = prepare(model)
