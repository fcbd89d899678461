"""The trainer of the script saves in its own way."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class GatheringTrainer(Trainer):
    def save_model(self, output_dir=None, _internal_call=False):
        state = self.accelerator.get_state_dict(self.model_wrapped)
        self.model.save_pretrained(output_dir or self.args.output_dir, state_dict=state)


ds = {"zero_optimization": {"stage": 3}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
GatheringTrainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
