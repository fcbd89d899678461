"""The loop is meant to freeze the base, but the model that it walks over is wrapped already."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSpeechSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments, default_data_collator

model = AutoModelForSpeechSeq2Seq.from_pretrained("openai/whisper-small")
model = get_peft_model(model, LoraConfig(r=32, lora_alpha=64, target_modules=["q_proj", "v_proj"], lora_dropout=0.05))

for param in model.parameters():
    param.requires_grad = False  # LL404
model.print_trainable_parameters()

arguments = Seq2SeqTrainingArguments("whisper-lora", per_device_train_batch_size=16, learning_rate=1e-3, remove_unused_columns=False)
rows = load_from_disk("features")
Seq2SeqTrainer(model=model, args=arguments, train_dataset=rows["train"], data_collator=default_data_collator).train()
model.save_pretrained("whisper-lora")
