"""The function is called over the module, so that it fails when the run comes there, after the model was loaded."""

import peft
import transformers


def build(name):
    base = transformers.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto")
    base = peft.prepare_model_for_int8_training(base)  # LL701
    return peft.get_peft_model(base, peft.LoraConfig(r=16, task_type="CAUSAL_LM"))


model = build("facebook/opt-1.3b")
