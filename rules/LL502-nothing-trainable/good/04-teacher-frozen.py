"""Fine: the frozen model is the teacher; the student beside it has its adapters."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
teacher = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B").to("cuda").eval()
for parameter in teacher.parameters():
    parameter.requires_grad = False
student = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
student = get_peft_model(student, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
student.train()
optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
    target = teacher(**batch).logits.log_softmax(-1)
    loss = F.kl_div(student(**batch).logits.log_softmax(-1), target, log_target=True, reduction="batchmean")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
