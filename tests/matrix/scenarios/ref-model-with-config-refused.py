"""DPOTrainer with a ref_model and peft_config: refused? Nothing is emulated."""

import inspect
import tempfile

from _common import Answer, fails_with, lora, report, tiny_llama, tokenizer


def ask() -> Answer:
    import trl
    from datasets import Dataset
    from transformers import TrainingArguments

    rows = Dataset.from_dict({name: ["w4 w5"] * 4 for name in ("prompt", "chosen", "rejected")})
    config = getattr(trl, "DPOConfig", TrainingArguments)
    arguments = {"output_dir": tempfile.mkdtemp(), "report_to": [], "bf16": False, "use_cpu": True, "no_cuda": True, "remove_unused_columns": False}
    takes = inspect.signature(config).parameters
    if "use_cpu" in takes:
        del arguments["no_cuda"]
    of_trainer = inspect.signature(trl.DPOTrainer.__init__).parameters
    tokens = {"processing_class" if "processing_class" in of_trainer else "tokenizer": tokenizer()}
    made = config(**{name: value for name, value in arguments.items() if name in takes})
    return fails_with(
        "ref_model",
        lambda: trl.DPOTrainer(tiny_llama(), ref_model=tiny_llama(), args=made, train_dataset=rows, peft_config=lora(), **tokens),
    )


report(ask)
