"""Fine: it is the input embeddings that are made to require grad, for adversarial training; the loss is left alone."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def adversarial_loss(model, ids, epsilon=1e-2):
    embeds = model.get_input_embeddings()(ids).detach()
    embeds.requires_grad_(True)
    clean = model(inputs_embeds=embeds, labels=ids).loss
    (grad,) = torch.autograd.grad(clean, embeds, retain_graph=True)
    noisy = embeds + epsilon * grad.sign()
    return clean + model(inputs_embeds=noisy, labels=ids).loss


def main(name="huggyllama/llama-7b"):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    model.train()
    for line in open("train.txt", encoding="utf-8"):
        loss = adversarial_loss(model, tok(line, return_tensors="pt").input_ids.to("cuda"))
        loss.backward()
        opt.step()
        opt.zero_grad()


main()
