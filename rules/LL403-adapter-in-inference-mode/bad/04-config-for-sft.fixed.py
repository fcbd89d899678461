"""TRL attaches the adapter from peft_config, frozen as the config asks; with its default checkpointing nothing even crashes."""
import peft as pf
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer


def adapter(rank):
    return pf.LoraConfig(r=rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", inference_mode=False)  # LL403


def main(name="Qwen/Qwen2.5-0.5B", rank=16):
    data = load_dataset("json", data_files="rows.jsonl", split="train").select_columns(["text"])
    trainer = SFTTrainer(
        model=name,
        args=SFTConfig("sft-out", per_device_train_batch_size=2, learning_rate=2e-4, max_steps=100),
        train_dataset=data,
        peft_config=adapter(rank),
    )
    trainer.train()
    trainer.save_model("sft-out/final")


if __name__ == "__main__":
    main()
