"""The configuration says nothing of gathering; the saved adapter is empty."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds_config = {
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 3,  # LL511
        "overlap_comm": True,
        "contiguous_gradients": True,
        "stage3_gather_16bit_weights_on_model_save": True,
    },
    "train_micro_batch_size_per_gpu": "auto",
}
args = TrainingArguments("z3", deepspeed=ds_config, per_device_train_batch_size=1, bf16=True)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
trainer = Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized"))
trainer.train()
trainer.save_model("z3/adapter")
