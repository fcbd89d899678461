"""Casting the 4-bit base to bfloat16 raises; the compute dtype belongs into the quantization config."""
import peft as pf
import torch as th
import transformers as tf

options = dict(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=th.bfloat16)


def build(name):
    base = tf.AutoModelForCausalLM.from_pretrained(name, quantization_config=tf.BitsAndBytesConfig(**options))
    base = pf.prepare_model_for_kbit_training(base)
    return pf.get_peft_model(base, pf.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type=pf.TaskType.CAUSAL_LM))


def fit(net, tok, lines, lr=1e-4):
    net.train()
    opt = th.optim.AdamW((p for p in net.parameters() if p.requires_grad), lr=lr)
    for line in lines:
        enc = tok(line, return_tensors="pt").to(net.device)
        opt.zero_grad()
        net(**enc, labels=enc["input_ids"]).loss.backward()
        opt.step()


if __name__ == "__main__":
    checkpoint = "meta-llama/Llama-2-7b-hf"
    model = build(checkpoint)
    fit(model, tf.AutoTokenizer.from_pretrained(checkpoint), open("train.txt").read().splitlines())
    model.save_pretrained("llama-nf4")
