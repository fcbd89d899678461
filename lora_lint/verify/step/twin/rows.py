"""Rows of data that nobody has: the columns of known data sets, and values that fit the names of columns."""

from __future__ import annotations

import re
from typing import Any

from .common import Twin

# name: splits; columns. A column's kind stands behind a colon where its name does not tell it.
_KNOWN = [
    (re.compile(pattern), splits.split(), columns.split())
    for pattern, splits, columns in (
        (r"alpaca_?gpt4|alpaca-cleaned|tatsu-lab/alpaca|yahma/alpaca|alpaca_data|vicgalle/alpaca", "train", "instruction input output"),
        (r"dolly-15k", "train", "instruction context response category"),
        (r"openassistant-guanaco", "train test", "text"),
        (r"guanaco-llama2", "train", "text"),
        (r"openassistant/oasst|/oasst[12]$", "train validation", "message_id parent_id user_id text role lang rank:float"),
        (r"ultrachat_200k", "train_sft test_sft train_gen test_gen", "prompt prompt_id messages"),
        (r"trl-lib/ultrafeedback_binarized", "train test", "chosen:messages rejected:messages score_chosen:float score_rejected:float"),
        (r"ultrafeedback_binarized", "train_prefs train_sft test_prefs test_sft train_gen test_gen",
         "prompt prompt_id chosen:messages rejected:messages messages score_chosen:float score_rejected:float"),
        (r"ultrafeedback-binarized-preferences|distilabel.*(dpo|pairs)|dpo-mix|orca_dpo_pairs", "train", "system question prompt chosen rejected"),
        (r"intel/orca_dpo_pairs", "train", "system question chosen rejected"),
        (r"orpo-dpo-mix", "train", "source chosen:messages rejected:messages prompt question"),
        (r"hh-rlhf", "train test", "chosen rejected"),
        (r"rlhf-reward|stack-exchange-paired", "train test", "qid:int question date metadata response_j response_k"),
        (r"summarize_from_feedback|openai_summarize", "train test validation", "prompt chosen rejected"),
        (r"imdb", "train test unsupervised", "text label:class-neg-pos"),
        (r"rotten_tomatoes", "train validation test", "text label:class-neg-pos"),
        (r"yelp_polarity|amazon_polarity", "train test", "text label:class-1-2"),
        (r"yelp_review_full", "train test", "label:class-1-2-3-4-5 text"),
        (r"ag_news", "train test", "text label:class-World-Sports-Business-Tech"),
        (r"(dair-ai/)?emotion$", "train validation test", "text label:class-sadness-joy-love-anger-fear-surprise"),
        (r"tweet_eval", "train test validation", "text label:class-negative-neutral-positive"),
        (r"financial_phrasebank", "train", "sentence label:class-negative-neutral-positive"),
        (r"twitter-financial-news-sentiment", "train validation", "text label:int"),
        (r"sst2|stanfordnlp/sst", "train validation test", "idx sentence label:class-negative-positive"),
        (r"squad_v2|squad", "train validation", "id:text title context question answers"),
        (r"wikitext", "test train validation", "text"),
        (r"\bptb|penn_treebank", "train validation test", "sentence"),
        (r"samsum", "train test validation", "id:text dialogue:text summary"),
        (r"dialogsum", "train validation test", "id:text dialogue:text summary topic"),
        (r"cnn_dailymail", "train validation test", "article highlights id:text"),
        (r"\bxsum", "train validation test", "document summary id:text"),
        (r"billsum", "train test ca_test", "text summary title"),
        (r"english_quotes", "train", "quote author tags"),
        (r"gsm8k", "train test", "question answer:gsm"),
        (r"metamathqa", "train", "type query response original_question"),
        (r"openorca|slimorca|open-orca", "train", "id:text system_prompt question response"),
        (r"no_robots", "train test", "prompt prompt_id messages category"),
        (r"openhermes-2\.5|sharegpt|slimorca", "train", "conversations:sharegpt"),
        (r"capybara", "train test", "source messages num_turns:int"),
        (r"wmt1\d|opus_books|opus100|kde4", "train validation test", "id:text translation"),
        (r"\bc4$|allenai/c4|the_pile|openwebtext|fineweb|oscar|redpajama|bookcorpus|tinystories|wikipedia", "train validation", "text"),
        (r"code_alpaca|codealpaca", "train", "instruction input output"),
        (r"python_code_instructions|python-code", "train", "instruction input output prompt"),
        (r"code_search_net|codeparrot", "train valid validation test", "content code"),
        (r"sql-create-context", "train", "answer question context"),
        (r"conll2003|wnut_17|wikiann", "train validation test", "id:text tokens ner_tags pos_tags:ner_tags"),
        (r"snli|multi_nli|mnli", "train validation test", "premise hypothesis label:class-entailment-neutral-contradiction"),
        (r"boolq", "train validation", "question answer:bool passage"),
        (r"piqa", "train test validation", "goal sol1 sol2 label:int"),
        (r"commonsense_qa", "train validation test", "id:text question question_concept choices answerKey"),
        (r"pubmed_?qa", "train", "pubid:int question context long_answer final_decision"),
        (r"medalpaca|medical_meadow", "train", "input output instruction"),
        (r"ai-medical-chatbot", "train", "Description Patient Doctor"),
        (r"chatdoctor", "train", "instruction input output"),
        (r"twitter_complaints|\braft$", "train test", "Tweet_text:text ID:int Label:int"),
        (r"poem_?sentiment", "train validation test", "id:int verse_text label:class-negative-positive-no_impact-mixed"),
        (r"food101|cats_vs_dogs|cifar|mnist|beans|imagenet", "train validation test", "image label:class-0-1"),
        (r"flowers|pokemon.*captions|naruto.*captions", "train", "image text"),
        (r"common_voice|librispeech|fleurs|minds14", "train validation test", "audio sentence text path"),
    )
]  # fmt: skip
_GLUE = {
    "cola": "sentence", "sst2": "sentence", "mrpc": "sentence1 sentence2", "stsb": "sentence1 sentence2", "qqp": "question1 question2",
    "mnli": "premise hypothesis", "qnli": "question sentence", "rte": "sentence1 sentence2", "wnli": "sentence1 sentence2",
    "ax": "premise hypothesis",
    "boolq": "question passage", "cb": "premise hypothesis", "copa": "premise choice1 choice2 question", "wic": "sentence1 sentence2 word",
}  # fmt: skip
_NOT_COLUMNS = {
    "train", "test", "validation", "input_ids", "attention_mask", "labels", "token_type_ids", "loss", "logits", "model", "lora", "default", "role",
    "content", "from", "value", "eval_loss", "params", "generated_text", "weight", "lr", "length", "name",
}  # fmt: skip
_BY_TRAINER = (
    (r"\bKTO(Trainer|Config)\b", ["prompt", "completion", "label"]),
    (r"\b(DPO|ORPO|CPO|SimPO|IPO)(Trainer|Config)\b", ["prompt", "chosen", "rejected"]),
    (r"\bReward(Trainer|Config)\b", ["chosen", "rejected"]),
    (r"\b(GRPO|RLOO|OnlineDPO|XPO|Nash\w+)(Trainer|Config)\b", ["prompt"]),
    (r"ForSequenceClassification", ["text", "label"]),
)
_SPLITS = ["train", "validation", "test"]


def known(name: str, config: str | None) -> tuple[list[str], list[str]] | None:
    """The splits and columns of a public data set, or ``None``."""
    text = name.lower()
    if re.search(r"(^|/)(super_)?glue$|nyu-mll/glue", text) and config in _GLUE:
        label = "label:float" if config == "stsb" else "label:class-0-1-2" if config in ("mnli", "cb", "ax") else "label:class-0-1"
        splits = ["train", *(["validation_matched", "validation_mismatched"] if config == "mnli" else ["validation"]), "test"]
        return splits, [*_GLUE[config].split(), label, "idx"]
    return next(((splits, columns) for pattern, splits, columns in _KNOWN if pattern.search(text)), None)


def shape(twin: Twin, name: str, config: str | None, line: int | None) -> tuple[list[str], list[str], bool]:
    """The splits and columns of a data set, and whether they are those of the real one.

    Of unknown data: what the plan says of this line, what it says of the script, what the script's text names, what its trainer needs.
    """
    found = known(name, config)
    if found is not None:
        return (*found, True)
    return _SPLITS, guessed(twin, line), False


def is_known(twin: Twin, line: int | None) -> bool:
    """Whether anything tells which columns data has that is missing."""
    return guessed(twin, line) != ["text"]


# A script that has a tokenizer, but calls it nowhere, reads data that is tokenized already.
_TURNS_TEXT_INTO_TOKENS = r"(?i)\.map\(|\w*tok\w*\(\s*[^)\s]|processor\(|encode\(|chat_template|(SFT|DPO|ORPO|KTO|GRPO|PPO|Reward)Trainer"


def guessed(twin: Twin, line: int | None) -> list[str]:
    """The columns of unknown data, at least one."""
    data = twin.plan.get("datasets") or {}
    planned = (data.get("by_line") or {}).get(str(line)) or data.get("columns") or []
    columns = [column for column in planned if column not in _NOT_COLUMNS]
    if not columns:
        text = twin.source
        columns = re.findall(r"""(?:\w*(?:example|sample|row|item|point|data\w*|entry|record|x|ex|batch|inst\w*))\[\s*["'](\w+)["']\s*\]""", text)
        columns += re.findall(r"""text_(?:field|column)\s*=\s*["'](\w+)["']""", text)
        columns += re.findall(r"""(?:rename_column|remove_columns)\(\s*\[?["'](\w+)["']""", text)
        columns = [column for column in dict.fromkeys(columns) if column not in _NOT_COLUMNS]
    needed = next((needed for pattern, needed in _BY_TRAINER if twin.mentions(pattern)), [])
    if needed and not set(needed) & set(columns):
        columns = [*columns, *needed]
    if not twin.mentions(r"(?i)tokeni[sz]|processor|encode|SFTTrainer|chat_template|feature_extractor"):
        columns = [*columns, "input_ids", "attention_mask", "labels"]
    elif not columns and twin.mentions(r"Trainer\(") and not twin.mentions(_TURNS_TEXT_INTO_TOKENS):
        columns = ["input_ids", "attention_mask", "label" if twin.mentions("SequenceClassification") else "labels"]
    return columns or ["text"]


def split_column(column: str) -> tuple[str, str]:
    """The name and the kind of a column as it stands in the tables."""
    name, _, kind = column.partition(":")
    return name, kind or kind_of(name)


def kind_of(name: str) -> str:
    """What is in a column, by its name."""
    low = name.lower()
    for pattern, kind in (
        (r"^(label|labels|target|class|sentiment_label|label_idx|stance)$", "class-0-1"),
        (r"^(messages|conversation|chat|dialog|dialogue|turns|chosen_messages|rejected_messages)$", "messages"),
        (r"^conversations$", "conversations"),
        (r"^(image|img|pixel_image|picture|photo)$", "image"),
        (r"^(images)$", "images"),
        (r"^audio$|^speech$", "audio"),
        (r"^(tokens|words)$", "words"),
        (r"^(ner_tags|pos_tags|tags_ids|chunk_tags)$", "ner_tags"),
        (r"^tags$", "texts"),
        (r"^translation$", "translation"),
        (r"^answers$", "answers"),
        (r"^(choices|options)$", "choices"),
        (r"^(input_ids|labels_ids|decoder_input_ids)$", "ids"),
        (r"^(attention_mask)$", "ones"),
        (r"score|rating|reward|margin|similarity|^rank$|^stars$|^probability$", "float"),
        (r"^(idx|id|index|num_\w+|year|age|length|count)$", "int"),
        (r"^(is_\w+|has_\w+)$", "bool"),
        (r"^(embedding|features|pixel_values)$", "floats"),
    ):
        if re.search(pattern, low):
            return kind
    return "text"


def value(twin: Twin, name: str, kind: str, row: int) -> Any:
    """The value of a column in a row, short enough for whole examples to fit."""
    text = f"sample {name.replace('_', ' ')} number {row}"
    if kind.startswith("class"):
        return row % max(kind.count("-"), 2)
    if kind == "conversations":
        kind = "sharegpt" if twin.mentions(r"""["'](from|value)["']""") else "messages"
    made = {
        "messages": lambda: [{"role": "user", "content": f"question {row}"}, {"role": "assistant", "content": f"answer {row}"}],
        "sharegpt": lambda: [{"from": "human", "value": f"question {row}"}, {"from": "gpt", "value": f"answer {row}"}],
        "int": lambda: row,
        "float": lambda: (row % 10) / 2.0,
        "bool": lambda: bool(row % 2),
        "floats": lambda: [0.1 * (row % 3), 0.2, 0.3, 0.4],
        "words": lambda: ["some", "words", "of", "data"],
        "texts": lambda: ["first", "second"],
        "ner_tags": lambda: [0, 1, 0, 1],
        "translation": lambda: {language: f"{text} {language}" for language in ("en", "fr", "de", "ro", "es")},
        "answers": lambda: {"text": ["sample"], "answer_start": [0]},
        "choices": lambda: {"label": ["A", "B"], "text": ["first", "second"]},
        "ids": lambda: [5 + (row + place) % 90 for place in range(16)],
        "ones": lambda: [1] * 16,
        "gsm": lambda: f"{text} #### {row}",
        "image": _image,
        "images": lambda: [_image()],
        "audio": lambda: {"array": [0.0, 0.1] * 8000, "sampling_rate": 16000, "path": "sample.wav"},
    }.get(kind)
    return made() if made is not None else text  # type: ignore[no-untyped-call]


def _image() -> Any:
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image.new("RGB", (32, 32), (120, 60, 30))


def table(twin: Twin, columns: list[str], count: int) -> dict[str, list[Any]]:
    """Rows of these columns."""
    pairs = [split_column(column) for column in columns]
    made = {}
    for name, kind in pairs:
        if name == "labels" and any(other == "input_ids" for other, _ in pairs):
            kind = "ids"
        made[name] = [value(twin, name, kind, row) for row in range(count)]
    return made


class Row(dict):  # type: ignore[type-arg]
    """A row that has any column it is asked for: the script knows its data, we do not."""

    twin: Any = None
    number = 0

    def __missing__(self, name: Any) -> Any:
        if not isinstance(name, str) or self.twin is None:
            raise KeyError(name)
        self[name] = value(self.twin, name, kind_of(name), self.number)
        return self[name]


def open_row(twin: Twin, values: dict[str, Any], number: int) -> Row:
    """A row that can be asked for columns which nobody knew of."""
    row = Row(values)
    row.twin, row.number = twin, number
    return row
