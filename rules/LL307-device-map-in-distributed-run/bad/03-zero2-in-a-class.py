"""ZeRO-2 keeps a whole model on each GPU; here each process wants all of them."""
# fix: unsafe
import transformers as tf
from peft import LoraConfig, TaskType, get_peft_model


class Job:
    config = {
        "zero_optimization": {"stage": 2, "overlap_comm": True},
        "bf16": {"enabled": True},
        "train_micro_batch_size_per_gpu": "auto",
    }

    def __init__(self, checkpoint, data):
        self.args = tf.TrainingArguments(output_dir="z2", deepspeed=self.config, bf16=True, learning_rate=2e-4)
        base = tf.AutoModelForCausalLM.from_pretrained(checkpoint, device_map="auto")  # LL307
        self.model = get_peft_model(base, LoraConfig(task_type=TaskType.CAUSAL_LM, target_modules=["q_proj", "v_proj"]))
        self.data = data

    def run(self):
        tf.Trainer(self.model, self.args, train_dataset=self.data).train()
