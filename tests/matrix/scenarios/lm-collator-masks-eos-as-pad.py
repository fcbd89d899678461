"""DataCollatorForLanguageModeling(mlm=False) with a tokenizer that pads with its EOS: does the EOS that a text ends in get no label?

Real: the collator.
"""

from _common import Answer, report, tokenizer


def ask() -> Answer:
    from transformers import DataCollatorForLanguageModeling

    words = tokenizer(pad_token="</s>")
    batch = DataCollatorForLanguageModeling(words, mlm=False)([words("w5 w6 w7 </s>"), words("w5 </s>")])
    labels = [label for row in batch["labels"].tolist() for label in row]
    return Answer(2 not in labels, why=f"{labels.count(2)} labels are the EOS")


report(ask)
