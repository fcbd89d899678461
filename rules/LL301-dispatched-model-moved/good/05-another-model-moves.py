"""Fine: the large teacher is placed by its map; only the student, which has none, is moved."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
teacher = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16, device_map="auto").eval()
student = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16)
student = get_peft_model(student, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
student.to("cuda").train()

optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    ids = tokenizer(line.strip(), return_tensors="pt").input_ids
    with torch.no_grad():
        target = teacher(input_ids=ids.to(teacher.device)).logits.to(student.device)
    logits = student(input_ids=ids.to(student.device)).logits
    loss = F.kl_div(logits.log_softmax(-1), target.log_softmax(-1), log_target=True, reduction="batchmean")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
student.save_pretrained("distilled")
