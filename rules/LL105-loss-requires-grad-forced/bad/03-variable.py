"""Variable(…, requires_grad=True) on the data of the loss: the old spelling of the same mistake."""
import peft as pf
import transformers as tf
from torch.autograd import Variable
from torch.optim import AdamW


class Loop:
    def __init__(self, name):
        self.tok = tf.AutoTokenizer.from_pretrained(name)
        net = tf.AutoModelForSeq2SeqLM.from_pretrained(name)
        self.net = pf.get_peft_model(net, pf.LoraConfig(r=8, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM")).cuda()
        self.opt = AdamW(self.net.parameters(), lr=1e-3)

    def loss(self, source, target):
        enc = self.tok(source, return_tensors="pt").to("cuda")
        gold = self.tok(target, return_tensors="pt").input_ids.cuda()
        return self.net(**enc, labels=gold).loss

    def fit(self, rows):
        self.net.train()
        for source, target in rows:
            loss = Variable(self.loss(source, target).data, requires_grad=True)  # LL105
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()


Loop("google/flan-t5-base").fit([row.rstrip("\n").split("\t") for row in open("pairs.tsv", encoding="utf-8")])
