"""Fine: T5 and its bare model have the same names inside."""
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForSeq2SeqLM, T5Model

model = get_peft_model(AutoModelForSeq2SeqLM.from_pretrained("google-t5/t5-small"), LoraConfig(r=8, target_modules=["q", "v"]))
model.save_pretrained("out")
again = PeftModel.from_pretrained(T5Model.from_pretrained("google-t5/t5-small"), "out")
