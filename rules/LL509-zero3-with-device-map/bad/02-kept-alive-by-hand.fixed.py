"""HfDeepSpeedConfig makes the configuration active for a loop of one's own."""
import deepspeed
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from transformers.integrations import HfDeepSpeedConfig


def zero(stage):
    return {"zero_optimization": {"stage": stage}, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}}


def main(batches, stage=3):
    config = zero(3)
    keep = HfDeepSpeedConfig(config)
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")  # LL509
    model = get_peft_model(model, LoraConfig(target_modules="all-linear"))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    engine.train()
    for ids in batches:
        engine.backward(engine(input_ids=ids, labels=ids).loss)
        engine.step()
    return keep
