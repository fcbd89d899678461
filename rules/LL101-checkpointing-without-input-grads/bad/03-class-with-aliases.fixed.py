"""The flag travels through a dictionary of settings and the libraries are imported under short names."""
# target: transformers==4.40.2 peft==0.10.0
import datasets
import peft as pf
import transformers as tf

TRAIN = dict(
    per_device_train_batch_size=1,
    gradient_accumulation_steps=16,
    gradient_checkpointing=True,  # LL101
    learning_rate=3e-4,
    max_steps=400,
)


class Tuner:
    def __init__(self, name):
        self.tok = tf.AutoTokenizer.from_pretrained(name)
        self.tok.pad_token = self.tok.unk_token
        self.net = tf.AutoModelForCausalLM.from_pretrained(name)
        self._add_adapters()

    def _add_adapters(self):
        self.net = pf.get_peft_model(self.net, pf.LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
        self.net.enable_input_require_grads()

    def _rows(self):
        rows = datasets.load_dataset("text", data_files="corpus.txt")["train"]
        return rows.map(lambda r: self.tok(r["text"], truncation=True, max_length=256), remove_columns=["text"])

    def run(self):
        args = tf.TrainingArguments(output_dir="tuned", **TRAIN)
        collator = tf.DataCollatorForLanguageModeling(self.tok, mlm=False)
        tf.Trainer(model=self.net, args=args, train_dataset=self._rows(), data_collator=collator).train()
        self.net.save_pretrained("tuned")


Tuner("huggyllama/llama-7b").run()
