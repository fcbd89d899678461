"""The project allows releases before the argument was renamed, and releases that know the new name only."""
# target: transformers>=4.38

from transformers import Seq2SeqTrainingArguments


def arguments(folder: str) -> Seq2SeqTrainingArguments:
    return Seq2SeqTrainingArguments(folder, evaluation_strategy="epoch", predict_with_generate=True)  # LL702


def newer(folder: str) -> Seq2SeqTrainingArguments:
    return Seq2SeqTrainingArguments(folder, eval_strategy="epoch")  # LL702
