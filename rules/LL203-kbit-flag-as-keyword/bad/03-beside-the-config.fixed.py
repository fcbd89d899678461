"""The keyword beside quantization_config: transformers 4.38 to 4.57 refuses the pair."""
# target: transformers==4.44.2 peft==0.12.0 bitsandbytes==0.43.3
import peft as pf
import torch
import transformers as tf
from datasets import load_from_disk


class Tuner:
    def __init__(self, name):
        self.quant = tf.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
        self.model = tf.LlamaForCausalLM.from_pretrained(
            name,
            quantization_config=self.quant,
            device_map={"": 0},
        )
        self.model = pf.prepare_model_for_kbit_training(self.model)
        self.model = pf.get_peft_model(self.model, pf.LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))

    def fit(self):
        args = tf.TrainingArguments("tuner", per_device_train_batch_size=1, bf16=True)
        tf.Trainer(self.model, args, train_dataset=load_from_disk("packed"), data_collator=tf.default_data_collator).train()


Tuner("huggyllama/llama-7b").fit()
