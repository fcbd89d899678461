"""Fine: the guards sit on the transformers model; .to(device) on the PeftModel around it moves nothing and raises nothing."""
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

device = torch.device("cuda")
name = "meta-llama/Llama-2-7b-hf"
base = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
model = get_peft_model(
    prepare_model_for_kbit_training(base),
    LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
)
model.to(device)
model.train()

tokenizer = AutoTokenizer.from_pretrained(name)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to(device)
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
