"""Fine: only the teacher's side of the distillation loss is detached."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def distill(student, teacher, batch, temperature=2.0):
    target = teacher(**batch).logits.detach() / temperature
    logits = student(**batch).logits / temperature
    return F.kl_div(F.log_softmax(logits, -1), F.softmax(target, -1), reduction="batchmean") * temperature**2


def main(name="huggyllama/llama-7b"):
    tok = AutoTokenizer.from_pretrained(name)
    teacher = AutoModelForCausalLM.from_pretrained("huggyllama/llama-13b").to("cuda").eval()
    student = AutoModelForCausalLM.from_pretrained(name)
    student = get_peft_model(student, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-4)
    student.train()
    for line in open("train.txt", encoding="utf-8"):
        loss = distill(student, teacher, tok(line, return_tensors="pt").to("cuda"))
        loss.backward()
        opt.step()
        opt.zero_grad()


main()
