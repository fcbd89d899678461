"""Loading, wrapping and training are methods of one class; the preparation is in none of them."""
# target: transformers==4.57.6 peft==0.18.1 bitsandbytes==0.48.2
import datasets
import peft as pf
import torch
import transformers as tf


class QLora:
    checkpoint = "meta-llama/Llama-3.1-8B"

    def __init__(self, rank=16):
        self.config = pf.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
        self.model = self.load()
        self.model.config.use_cache = False

    def load(self):
        quant = tf.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
        return tf.AutoModelForCausalLM.from_pretrained(self.checkpoint, quantization_config=quant, device_map={"": 0})

    def wrap(self):
        self.model = pf.prepare_model_for_kbit_training(self.model)
        self.model = pf.get_peft_model(self.model, self.config)  # LL201
        self.model.print_trainable_parameters()
        return self

    def fit(self, path):
        args = tf.TrainingArguments("qlora", per_device_train_batch_size=1, gradient_accumulation_steps=8, bf16=True)
        rows = datasets.load_from_disk(path)
        tf.Trainer(model=self.model, args=args, train_dataset=rows, data_collator=tf.default_data_collator).train()
        self.model.save_pretrained("qlora")


if __name__ == "__main__":
    QLora().wrap().fit("packed")
