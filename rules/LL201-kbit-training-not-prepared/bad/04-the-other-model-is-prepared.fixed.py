"""Two quantized models live in one script, and only the frozen reference is prepared."""
import fire
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


def load(name):
    bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    return AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb, device_map={"": 0})


def logp(model, ids):
    logits = model(input_ids=ids).logits[:, :-1].float()
    return torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).sum()


def train(name: str = "huggyllama/llama-7b", pairs: str = "pairs.tsv", beta: float = 0.1):
    tok = AutoTokenizer.from_pretrained(name)
    reference = prepare_model_for_kbit_training(load(name), use_gradient_checkpointing=False)
    policy = load(name)
    policy = prepare_model_for_kbit_training(policy)
    policy = get_peft_model(policy, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))  # LL201
    opt = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=5e-6)
    policy.train()
    for row in open(pairs, encoding="utf-8"):
        good, poor = (tok(t, return_tensors="pt").input_ids.to(policy.device) for t in row.rstrip("\n").split("\t"))
        with torch.no_grad():
            margin = logp(reference, good) - logp(reference, poor)
        loss = -F.logsigmoid(beta * (logp(policy, good) - logp(policy, poor) - margin))
        loss.backward()
        opt.step()
        opt.zero_grad()
    policy.save_pretrained("preference-lora")


fire.Fire(train)
