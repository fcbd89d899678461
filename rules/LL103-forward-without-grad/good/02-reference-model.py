"""Fine: the reference's log-probabilities are computed under no_grad, the policy's are not."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def logp(model, ids):
    logits = model(input_ids=ids).logits[:, :-1].float()
    return torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).sum()


def main(name="huggyllama/llama-7b"):
    tok = AutoTokenizer.from_pretrained(name)
    reference = AutoModelForCausalLM.from_pretrained(name).to("cuda").eval()
    policy = AutoModelForCausalLM.from_pretrained(name)
    policy = get_peft_model(policy, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-6)
    policy.train()
    for row in open("pairs.tsv", encoding="utf-8"):
        good, poor = (tok(text, return_tensors="pt").input_ids.to("cuda") for text in row.rstrip("\n").split("\t"))
        with torch.no_grad():
            ref = logp(reference, good) - logp(reference, poor)
        loss = -F.logsigmoid(0.1 * (logp(policy, good) - logp(policy, poor) - ref))
        loss.backward()
        opt.step()
        opt.zero_grad()


main()
