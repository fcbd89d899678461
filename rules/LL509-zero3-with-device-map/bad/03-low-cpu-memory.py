"""An older release refuses low_cpu_mem_usage as well."""
# target: transformers==4.44.2 peft==0.12.0
import transformers as tf
from peft import LoraConfig, get_peft_model


class Run:
    def __init__(self, name, output):
        self.args = tf.TrainingArguments(output, deepspeed=self.config(), bf16=True)
        self.base = tf.AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto", low_cpu_mem_usage=True)  # LL509

    def config(self):
        return dict(
            zero_optimization=dict(stage=3, stage3_gather_16bit_weights_on_model_save=True, overlap_comm=True),
            gradient_accumulation_steps="auto",
            train_micro_batch_size_per_gpu="auto",
        )

    def train(self, data):
        model = get_peft_model(self.base, LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"]))
        tf.Trainer(model, self.args, train_dataset=data).train()
