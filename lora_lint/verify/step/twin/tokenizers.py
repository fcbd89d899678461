"""Tokenizers without a download: byte-level BPE, learnt from the script's own strings, with the special tokens that the real family has or lacks.

As it knows the words of the script's templates, a text has about as many tokens as it would have in reality; every text can be encoded.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .architectures import STYLES, Tokens, is_chat
from .common import Twin
from .shrink import VOCABULARY

if TYPE_CHECKING:
    from .checkpoints import Checkpoints

_WORDS = """\
Below is an instruction that describes a task, paired with an input that provides further context. Write a response that appropriately completes the
request. ### Instruction: ### Input: ### Response: ### Question: ### Answer: ### Context: ### Human: ### Assistant: You are a helpful assistant.
Human: Assistant: User: system user assistant model question answer context text label summary translate summarize the following sentence document
sample number of the synthetic data first second third positive negative neutral this is some a short example with few words in it what how why when
"""
_KEPT = (
    "padding_side", "truncation_side", "model_max_length", "pad_token", "eos_token", "bos_token", "unk_token", "cls_token", "sep_token", "mask_token",
    "additional_special_tokens", "extra_special_tokens", "clean_up_tokenization_spaces", "model_input_names", "src_lang", "tgt_lang",
)  # fmt: skip
_PLACES = {
    "image": ("<image>", "<|image_pad|>", "<image_soft_token>", "<|image|>", "<IMG_CONTEXT>", "[IMG]"),
    "video": ("<video>", "<|video_pad|>"),
    "vision_start": ("<|vision_start|>",),
    "vision_end": ("<|vision_end|>",),
    "boi": ("<start_of_image>",),
    "eoi": ("<end_of_image>",),
}
_SPECIAL = {name: f"{name}_token" for name in ("bos", "eos", "pad", "unk", "cls", "sep", "mask")}

_HEAD = "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set first = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set first = '' %}{% endif %}"  # noqa: E501


def _turns(before: str, after: str, start: str, begin: str = "") -> str:
    """A template in which each message stands between two texts; what the assistant says is marked."""
    text = "m['content'] if m['content'] is string else (m['content'] | selectattr('text', 'defined') | map(attribute='text') | join(' '))"
    said = f"{{{{ {text} }}}}{after}"
    return (
        f"{begin}{{% for m in messages %}}{before}"
        f"{{% if m['role'] == 'assistant' %}}{{% generation %}}{said}{{% endgeneration %}}{{% else %}}{said}{{% endif %}}"
        f"{{% endfor %}}{{% if add_generation_prompt %}}{start}{{% endif %}}"
    )


def _dialogue(user: str, user_end: str, assistant: str, assistant_end: str, begin: str = "") -> str:
    """A template of questions and answers, a system message in front of the first question."""
    return (
        f"{begin}{_HEAD}{{% for m in rest %}}{{% if m['role'] == 'user' %}}{user}"
        "{% if loop.first and first %}{{ first }}\n\n{% endif %}{{ m['content'] }}"
        f"{user_end}{{% else %}}{assistant}{{% generation %}}{{{{ m['content'] }}}}{assistant_end}{{% endgeneration %}}{{% endif %}}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{assistant}{{% endif %}}"
    )


_ROLE = "{{ m['role'] }}"
_GEMMA = "{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
_BOS = "{{ bos_token }}"
CHATS = {
    "chatml": _turns(f"<|im_start|>{_ROLE}\n", "<|im_end|>\n", "<|im_start|>assistant\n"),
    "llama2": _dialogue("<s>[INST] ", " [/INST]", "", " </s>"),
    "llama3": _turns(
        f"<|start_header_id|>{_ROLE}<|end_header_id|>\n\n", "<|eot_id|>", "<|start_header_id|>assistant<|end_header_id|>\n\n", _BOS
    ),
    "llama4": _turns(f"<|header_start|>{_ROLE}<|header_end|>\n\n", "<|eot|>", "<|header_start|>assistant<|header_end|>\n\n", _BOS),
    "mistral": _dialogue("[INST] ", " [/INST]", "", "</s>", _BOS),
    "zephyr": _turns(f"<|{_ROLE}|>\n", "</s>\n", "<|assistant|>\n"),
    "tulu": _turns(f"<|{_ROLE}|>\n", "<|endoftext|>\n", "<|assistant|>\n"),
    "gemma": _turns(f"{_GEMMA}<start_of_turn>{{{{ role }}}}\n", "<end_of_turn>\n", "<start_of_turn>model\n", _BOS),
    "phi3": _turns(f"<|{_ROLE}|>\n", "<|end|>\n", "<|assistant|>\n"),
    "phi4": _turns(f"<|im_start|>{_ROLE}<|im_sep|>", "<|im_end|>", "<|im_start|>assistant<|im_sep|>"),
    "deepseek": _dialogue("<｜User｜>", "", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", _BOS),
    "falcon": _turns(f"<|{_ROLE}|>\n", "\n", "<|assistant|>\n"),
    "granite": _turns(f"<|start_of_role|>{_ROLE}<|end_of_role|>", "<|end_of_text|>\n", "<|start_of_role|>assistant<|end_of_role|>"),
    "harmony": _turns(f"<|start|>{_ROLE}<|message|>", "<|end|>", "<|start|>assistant"),
    "cohere": _dialogue(
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>", _BOS
    ),
    "glm": _turns(f"<|{_ROLE}|>\n", "", "<|assistant|>\n", "[gMASK]<sop>"),
    "vicuna": _dialogue("USER: ", " ", "ASSISTANT: ", "</s>"),
    "idefics": _turns(f"{_ROLE}: ", "<end_of_utterance>\n", "Assistant:"),
}


class Tokenizers:
    """Makes tokenizers, and gives them to whoever loads one."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._texts = [_WORDS, *_strings(twin.source)]
        self._models: Checkpoints

    def save(self, folder: str, name: str, style: str, positions: int, local: str | None = None, guessed: bool = False) -> dict[str, int | None]:
        """Write the tokenizer of a model into its folder; returns the ids of its special tokens by their names in a configuration.

        ``guessed``: nobody knows the model, so its tokenizer has whatever a script may rely on.
        """
        tokens, template = _tokens(name, style, guessed)
        if local is not None:
            tokens, template = _as_in(local, tokens, template)
        tokenizer = self._make(tokens, positions)
        if template:
            tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
        return {**{f"{part}_token_id": getattr(tokenizer, f"{part}_token_id") for part in ("bos", "eos", "pad")}, **_places(tokenizer)}

    def install(self, models: Checkpoints) -> None:
        """Patch what loads tokenizers."""
        self._models = models
        twin = self._twin
        twin.when("transformers.tokenization_utils_base", lambda module: twin.wrap(module.PreTrainedTokenizerBase, "from_pretrained", self._around))
        twin.when("transformers.models.auto.tokenization_auto", lambda module: twin.wrap(module.AutoTokenizer, "from_pretrained", self._around))

    def _around(self, original: Any) -> Callable[..., Any]:
        twin = self._twin

        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if twin.busy:
                return original(cls, name, *args, **kwargs)
            folder = self._models.folder(name, "tokenizer")
            if folder is None:  # written by the script, or nothing but a tokenizer
                found = twin.paths.found(name)
                return original(cls, found or name, *args, **kwargs)
            from transformers import PreTrainedTokenizerFast

            with twin.working():
                tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, **{key: kwargs[key] for key in _KEPT if key in kwargs})
            tokenizer.name_or_path = str(name)
            for part in ("bos", "eos"):
                if isinstance(kwargs.get(f"add_{part}_token"), bool):
                    _put_around(tokenizer, part, kwargs[f"add_{part}_token"])
            twin.replaced("tokenizer", name, f"byte-level BPE, {len(tokenizer)} tokens, {'no' if tokenizer.pad_token is None else 'a'} pad token")
            return tokenizer

        return from_pretrained

    def _make(self, tokens: Tokens, positions: int) -> Any:
        import tokenizers
        from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
        from transformers import PreTrainedTokenizerFast

        named = {argument: getattr(tokens, part) for part, argument in _SPECIAL.items() if getattr(tokens, part) is not None}
        special = list(dict.fromkeys([*named.values(), *tokens.more]))
        raw = tokenizers.Tokenizer(models.BPE(unk_token=tokens.unk))
        raw.normalizer = normalizers.Sequence([])
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), special_tokens=special, show_progress=False
        )
        raw.train_from_iterator(self._texts, trainer)
        raw = _filled(raw)
        size = min(positions, 1 << 17)
        # The general class makes token_type_ids on older releases; of the families, only BERT's own do.
        inputs = ["input_ids", *(["token_type_ids"] if tokens.cls == "[CLS]" else []), "attention_mask"]
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, model_max_length=size, model_input_names=inputs, **named)
        _add(tokenizer, list(tokens.more))
        tokenizer._tokenizer.post_processor = _around_texts(tokenizer, tokens.around)
        return tokenizer


def _places(tokenizer: Any) -> dict[str, int]:
    """The ids of the tokens that pictures and films stand behind, by their names in a configuration."""
    vocabulary = tokenizer.get_vocab()
    found = {part: next((vocabulary[token] for token in tokens if token in vocabulary), None) for part, tokens in _PLACES.items()}
    named = {f"{part}_token_{kind}": number for part, number in found.items() for kind in ("id", "index")}
    return {name: number for name, number in named.items() if number is not None}


def _add(tokenizer: Any, tokens: list[str]) -> None:
    if tokens:
        tokenizer.add_tokens(tokens, special_tokens=True)  # they are in the vocabulary: none is new


def _filled(raw: Any) -> Any:
    """The same tokenizer with unused tokens up to the size of the model's vocabulary, as that of most models has no gap."""
    import tokenizers

    state = json.loads(raw.to_str())
    vocabulary = state["model"]["vocab"]
    for number in range(len(vocabulary), VOCABULARY):
        vocabulary[f"<unused{number}>"] = number
    return tokenizers.Tokenizer.from_str(json.dumps(state))


def _around_texts(tokenizer: Any, around: str) -> Any:
    from tokenizers.processors import ByteLevel, TemplateProcessing

    names = {"bos": tokenizer.bos_token, "eos": tokenizer.eos_token, "cls": tokenizer.cls_token, "sep": tokenizer.sep_token}
    bos, eos = names["bos"] if "bos" in around else None, names["eos"] if "eos" in around else None
    pair: list[str]
    if around == "cls sep":
        single, pair = [names["cls"], "$A", names["sep"]], [names["cls"], "$A", names["sep"], "$B:1", f"{names['sep']}:1"]
    else:
        single, pair = [bos, "$A", eos], [bos, "$A", eos, "$B:1", f"{eos}:1" if eos else None]  # type: ignore[list-item]
    used = {name for name in single if name and name != "$A"}
    if not used:
        return ByteLevel(trim_offsets=False)
    special = [(name, tokenizer.convert_tokens_to_ids(name)) for name in used]
    return TemplateProcessing(single=list(filter(None, single)), pair=list(filter(None, pair)), special_tokens=special)


def _put_around(tokenizer: Any, part: str, wanted: bool) -> None:
    """Let a tokenizer add a begin or an end to each text, or no longer."""
    ids = tokenizer("a")["input_ids"]
    has = {other for other, at in (("bos", 0), ("eos", -1)) if ids[at] == getattr(tokenizer, f"{other}_token_id")}
    has = has | {part} if wanted and getattr(tokenizer, f"{part}_token") else has - {part}
    tokenizer._tokenizer.post_processor = _around_texts(tokenizer, " ".join(sorted(has)) or "nothing")


def _tokens(name: str, style: str, chat: bool) -> tuple[Tokens, str | None]:
    from dataclasses import replace

    tokens = STYLES[style]
    if not chat and not is_chat(name):
        return tokens, None
    changed = {"eos": tokens.chat_eos or tokens.eos, "pad": tokens.chat_pad or tokens.pad}
    more = tuple(dict.fromkeys((*tokens.more, *filter(None, (tokens.eos,)))))
    return replace(tokens, **changed, more=more), CHATS[tokens.chat]  # type: ignore[arg-type]


def _as_in(folder: str, tokens: Tokens, template: str | None) -> tuple[Tokens, str | None]:
    """The special tokens and the chat template of a tokenizer on disk, where it says."""
    from dataclasses import replace

    found = _json(os.path.join(folder, "tokenizer_config.json"))
    for part, value in _json(os.path.join(folder, "special_tokens_map.json")).items():
        found.setdefault(part, value)
    if not found:
        return tokens, template
    named = {part: _text(found.get(argument)) for part, argument in _SPECIAL.items()}
    if isinstance(found.get("chat_template"), str):
        template = found["chat_template"]
    path = os.path.join(folder, "chat_template.jinja")
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as stream:
            template = stream.read()
    return replace(tokens, **named), template  # type: ignore[arg-type]


def _text(token: Any) -> str | None:
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) and token else None


def _json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _strings(source: str) -> list[str]:
    """The texts in a script, parts of f-strings as well."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text[:4000] for text in found if len(text) > 1][:500] * 2  # twice: a single occurrence is not learnt
