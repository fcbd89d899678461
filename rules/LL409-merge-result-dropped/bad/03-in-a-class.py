"""The PeftModel is an attribute of an exporter, whose merge() keeps nothing."""
from peft import AutoPeftModelForCausalLM


class Exporter:
    def __init__(self, adapter: str) -> None:
        self.model = AutoPeftModelForCausalLM.from_pretrained(adapter, device_map="cpu")

    def export(self, target: str) -> None:
        self.model.merge_and_unload()  # LL409
        self.model.save_pretrained(target, max_shard_size="2GB")


Exporter("runs/adapter").export("runs/merged")
