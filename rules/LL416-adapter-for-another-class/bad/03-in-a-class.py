"""The path is an attribute that both halves use."""
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer


class Pipeline:
    base = "Qwen/Qwen2.5-0.5B"
    adapter = "runs/domain"

    def adapt(self, rows):
        net = get_peft_model(AutoModelForCausalLM.from_pretrained(self.base), LoraConfig(r=8, target_modules="all-linear"))
        SFTTrainer(model=net, args=SFTConfig("runs"), train_dataset=rows).train()
        net.save_pretrained(self.adapter)

    def embedder(self):
        bare = AutoModel.from_pretrained(self.base, trust_remote_code=False)
        return PeftModel.from_pretrained(bare, model_id=self.adapter)  # LL416


def run(rows):
    pipeline = Pipeline()
    pipeline.adapt(rows)
    return pipeline.embedder()
