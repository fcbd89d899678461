"""Fine: a forward hook on the embeddings does by hand what enable_input_require_grads() does."""
# target: transformers==4.36.2 peft==0.7.1
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def train(name="bigscience/bloom-560m"):
    model = AutoModelForCausalLM.from_pretrained(name)
    if hasattr(model, "enable_input_require_grads"):
        model.enable_input_require_grads()
    else:

        def make_inputs_require_grad(module, inputs, output):
            output.requires_grad_(True)

        model.get_input_embeddings().register_forward_hook(make_inputs_require_grad)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["query_key_value"], task_type="CAUSAL_LM"))
    args = TrainingArguments("bloom", gradient_checkpointing=True)
    Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


train()
