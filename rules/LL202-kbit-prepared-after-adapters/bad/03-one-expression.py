"""Both calls in one expression, in the wrong order."""
import fire
import peft as pf
import transformers as tf
from datasets import load_from_disk


def train(base: str = "mistralai/Mistral-7B-v0.1", out: str = "mistral-qlora", r: int = 16):
    model = tf.AutoModelForCausalLM.from_pretrained(
        base,
        quantization_config=tf.BitsAndBytesConfig(load_in_4bit=True),
        device_map={"": 0},
    )
    lora = pf.LoraConfig(r=r, lora_alpha=2 * r, target_modules="all-linear", task_type="CAUSAL_LM")
    model = pf.prepare_model_for_kbit_training(pf.get_peft_model(model, lora))  # LL202
    args = tf.TrainingArguments(output_dir=out, per_device_train_batch_size=1, bf16=True)
    tf.Trainer(model, args, train_dataset=load_from_disk("packed"), data_collator=tf.default_data_collator).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    fire.Fire(train)
