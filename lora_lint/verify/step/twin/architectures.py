"""Which architecture, tokens and type of weights a model has, by its name on the hub.

Modules are named by the kind of architecture, so the kind is what has to be true. Sources: the ``config.json``, ``tokenizer_config.json`` and
``generation_config.json`` of each family's repositories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tokens:
    """The special tokens of a family. ``None``: its tokenizer has none. ``around``: what it puts around a text by itself."""

    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    unk: str | None = None
    cls: str | None = None
    sep: str | None = None
    mask: str | None = None
    around: str = "nothing"  # bos | eos | bos eos | cls sep
    chat: str = "chatml"
    chat_eos: str | None = None  # of the models tuned for chats
    chat_pad: str | None = None
    more: tuple[str, ...] = ()


_END = "<|endoftext|>"
_CHATML = ("<|im_start|>", "<|im_end|>")
_LANGUAGES = ("en_XX", "fr_XX", "de_DE", "ro_RO", "es_XX", "zh_CN", "eng_Latn", "fra_Latn", "deu_Latn", "spa_Latn", "zho_Hans")

STYLES: dict[str, Tokens] = {
    "llama": Tokens("<s>", "</s>", None, "<unk>", around="bos", chat="llama2"),
    "llama padded": Tokens("<s>", "</s>", "</s>", "<unk>", around="bos", chat="zephyr"),
    "vicuna": Tokens("<s>", "</s>", "<unk>", "<unk>", around="bos", chat="vicuna"),
    "llama3": Tokens(
        "<|begin_of_text|>", "<|end_of_text|>", None, None, around="bos", chat="llama3", chat_eos="<|eot_id|>",
        more=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|finetune_right_pad_id|>"),
    ),
    "llama4": Tokens(
        "<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad|>", None, around="bos", chat="llama4", chat_eos="<|eot|>",
        more=("<|header_start|>", "<|header_end|>", "<|eot|>", "<|image|>"),
    ),
    "mistral": Tokens("<s>", "</s>", None, "<unk>", around="bos", chat="mistral", more=("[INST]", "[/INST]")),
    "mistral3": Tokens("<s>", "</s>", "<pad>", "<unk>", around="bos", chat="mistral", more=("[INST]", "[/INST]", "[IMG]")),
    "gemma": Tokens(
        "<bos>", "<eos>", "<pad>", "<unk>", around="bos", chat="gemma",
        more=("<start_of_turn>", "<end_of_turn>", "<image_soft_token>", "<start_of_image>", "<end_of_image>"),
    ),
    "qwen": Tokens(
        None, _END, _END, None, chat="chatml", chat_eos="<|im_end|>",
        more=(*_CHATML, "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"),
    ),
    "gpt2": Tokens(_END, _END, None, _END),
    "olmo": Tokens(_END, _END, "<|padding|>", None, chat="tulu"),
    "opt": Tokens("</s>", "</s>", "<pad>", "</s>", around="bos"),
    "bloom": Tokens("<s>", "</s>", "<pad>", "<unk>"),
    "falcon": Tokens(None, _END, None, None, chat="falcon"),
    "phi3": Tokens("<s>", _END, _END, "<unk>", chat="phi3", more=("<|user|>", "<|assistant|>", "<|system|>", "<|end|>")),
    "phi4": Tokens(_END, _END, "<|dummy_85|>", _END, chat="phi4", chat_eos="<|im_end|>", more=(*_CHATML, "<|im_sep|>")),
    "deepseek": Tokens(
        "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>", None, around="bos", chat="deepseek",
        more=("<｜User｜>", "<｜Assistant｜>"),
    ),
    "smollm": Tokens(_END, _END, None, _END, chat="chatml", chat_eos="<|im_end|>", chat_pad="<|im_end|>", more=_CHATML),
    "stablelm": Tokens(_END, _END, None, _END, chat="tulu"),
    "granite": Tokens("<|end_of_text|>", "<|end_of_text|>", "<|end_of_text|>", "<|end_of_text|>", chat="granite"),
    "gpt oss": Tokens(
        "<|startoftext|>", _END, _END, None, chat="harmony", chat_eos="<|return|>",
        more=("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>"),
    ),
    "cohere": Tokens(
        "<BOS_TOKEN>", "<EOS_TOKEN>", "<PAD>", "<UNK>", around="bos", chat="cohere", chat_eos="<|END_OF_TURN_TOKEN|>",
        more=("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|SYSTEM_TOKEN|>"),
    ),
    "glm": Tokens(None, _END, _END, None, chat="glm", more=("<|user|>", "<|assistant|>", "<|system|>", "[gMASK]", "<sop>")),
    "bert": Tokens(None, None, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", around="cls sep"),
    "deberta": Tokens("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", around="cls sep"),
    "roberta": Tokens("<s>", "</s>", "<pad>", "<unk>", "<s>", "</s>", "<mask>", around="cls sep"),
    "t5": Tokens(None, "</s>", "<pad>", "<unk>", around="eos", more=tuple(f"<extra_id_{number}>" for number in range(100))),
    "pegasus": Tokens(None, "</s>", "<pad>", "<unk>", around="eos"),
    "languages": Tokens("<s>", "</s>", "<pad>", "<unk>", "<s>", "</s>", "<mask>", around="eos", more=_LANGUAGES),
    "clip": Tokens("<|startoftext|>", _END, _END, _END, around="bos eos"),
    "whisper": Tokens(
        "<|startoftranscript|>", _END, _END, _END, around="bos eos", more=("<|en|>", "<|transcribe|>", "<|translate|>", "<|notimestamps|>"),
    ),
    "wav2vec2": Tokens("<s>", "</s>", "<pad>", "<unk>", more=("|",)),
    "llava": Tokens("<s>", "</s>", "<pad>", "<unk>", around="bos", chat="vicuna", more=("<image>",)),
    "paligemma": Tokens("<bos>", "<eos>", "<pad>", "<unk>", around="bos", chat="gemma", more=("<image>",)),
    "idefics": Tokens(
        "<s>", "</s>", "<unk>", "<unk>", around="bos", chat="idefics", more=("<image>", "<fake_token_around_image>", "<end_of_utterance>")
    ),
    "internvl": Tokens(None, _END, _END, None, chat="chatml", chat_eos="<|im_end|>", more=(*_CHATML, "<IMG_CONTEXT>", "<img>", "</img>")),
}  # fmt: skip

_STYLE_OF_TYPE = {
    "llama": "llama", "mistral": "mistral", "mixtral": "mistral", "mistral3": "mistral3", "pixtral": "mistral3", "llama4": "llama4",
    "llama4_text": "llama4", "mllama": "llama3", "gpt2": "gpt2", "gpt_neo": "gpt2", "gptj": "gpt2", "gpt_neox": "gpt2", "gpt_bigcode": "gpt2",
    "starcoder2": "gpt2", "codegen": "gpt2", "phi": "gpt2", "mpt": "gpt2", "opt": "opt", "bloom": "bloom", "falcon": "falcon", "phi3": "phi3",
    "olmo": "olmo", "olmo2": "olmo", "olmo3": "olmo", "olmoe": "olmo", "stablelm": "stablelm", "granite": "granite", "granitemoe": "granite",
    "gpt_oss": "gpt oss", "cohere": "cohere", "cohere2": "cohere", "deepseek_v2": "deepseek", "deepseek_v3": "deepseek", "smollm3": "smollm",
    "glm": "glm", "glm4": "glm", "glm4_moe": "glm", "t5": "t5", "mt5": "t5", "umt5": "t5", "longt5": "t5", "switch_transformers": "t5",
    "pegasus": "pegasus", "bigbird_pegasus": "pegasus", "marian": "pegasus", "bart": "roberta", "led": "roberta", "longformer": "roberta",
    "roberta": "roberta", "xlm-roberta": "roberta", "camembert": "roberta", "mpnet": "roberta", "xlm-roberta-xl": "roberta", "mbart": "languages",
    "m2m_100": "languages", "bert": "bert", "distilbert": "bert", "electra": "bert", "albert": "bert", "modernbert": "bert", "convbert": "bert",
    "mobilebert": "bert", "nomic_bert": "bert", "layoutlm": "bert", "layoutlmv3": "roberta", "deberta": "deberta", "deberta-v2": "deberta",
    "clip": "clip", "siglip": "t5", "whisper": "whisper", "wav2vec2": "wav2vec2", "hubert": "wav2vec2", "llava": "llava", "llava_next": "llava",
    "paligemma": "paligemma", "idefics2": "idefics", "idefics3": "idefics", "smolvlm": "idefics", "blip": "bert", "blip-2": "opt", "git": "bert",
    "internvl": "internvl", "speech_to_text": "languages",
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """What a name tells: the kind of architecture, its tokens, the type of its weights, and switches that change its modules."""

    model_type: str
    style: str
    dtype: str = "bfloat16"
    switches: dict[str, Any] = field(default_factory=dict)
    known: bool = True  # by a name, not by the class that asked


def _row(
    pattern: str, model_type: str, dtype: str = "bfloat16", style: str = "", switches: dict[str, Any] | None = None
) -> tuple[re.Pattern[str], Family]:
    return re.compile(pattern), Family(model_type, style or style_of(model_type), dtype, switches or {})


def _loose(pattern: str) -> str:
    """A pattern in which a hyphen stands for ``-``, ``_``, a space or nothing, but for those in brackets."""
    return re.sub(r"\[[^\]]*\]|-\??", lambda found: found[0] if found[0][0] == "[" else "[-_ ]?", pattern)


def style_of(model_type: str) -> str:
    """The tokens of a kind of architecture."""
    for prefix, style in (("qwen", "qwen"), ("gemma", "gemma")):
        if model_type.startswith(prefix):
            return style
    return _STYLE_OF_TYPE.get(model_type.replace("_text", ""), _STYLE_OF_TYPE.get(model_type, "llama padded"))


_HALF, _FULL = "float16", "float32"
# The first that is found in the name wins, so the special ones come first.
_TABLE: list[tuple[re.Pattern[str], Family]] = [
    _row(_loose(pattern), *rest, switches=switches)  # type: ignore[misc]
    for pattern, rest, switches in (
        # Distilled and tuned models, named after two families.
        (r"r1-distill-llama|deepseek-r1.*llama", ("llama", "bfloat16", "deepseek"), {}),
        (r"r1-distill-qwen|deepseek-r1.*qwen", ("qwen2", "bfloat16", "deepseek"), {}),
        (r"deepseek-(v3|r1)", ("deepseek_v3",), {}),
        (r"deepseek-(v2|coder-v2)", ("deepseek_v2",), {}),
        (r"deepseek", ("llama", "bfloat16", "deepseek"), {}),
        # Pictures and text.
        (r"qwen3-vl.*(a3b|a22b|moe)", ("qwen3_vl_moe",), {}),
        (r"qwen3-vl", ("qwen3_vl",), {}),
        (r"qwen2\.5-omni", ("qwen2_5_omni",), {}),
        (r"qwen2\.5-vl|ui-tars", ("qwen2_5_vl",), {}),
        (r"qwen2-vl|qvq", ("qwen2_vl",), {}),
        (r"llava.*(next|1\.6|v1\.6).*video", ("llava_next_video", _HALF, "llava"), {}),
        (r"llava-onevision", ("llava_onevision", _HALF, "qwen"), {}),
        (r"llava.*(next|1\.6|v1\.6)", ("llava_next", _HALF), {}),
        (r"llava", ("llava", _HALF), {}),
        (r"paligemma", ("paligemma", _FULL), {}),
        (r"idefics2", ("idefics2",), {}),
        (r"idefics3", ("idefics3",), {}),
        (r"smolvlm", ("smolvlm",), {}),
        (r"blip-?2", ("blip-2", _HALF), {}),
        (r"instructblip", ("instructblip", _HALF, "bert"), {}),
        (r"blip", ("blip", _FULL), {}),
        (r"internvl", ("internvl",), {}),
        (r"pixtral|mistral-small-3\.[1-9]|mistral-small.*(2503|2506)|ministral-3", ("mistral3",), {}),
        (r"llama-3\.2.*(11b|90b)|llama.*vision", ("mllama",), {}),
        (r"\bgit-(base|large)", ("git", _FULL), {}),
        (r"trocr", ("vision-encoder-decoder", _FULL, "roberta"), {}),
        (r"donut", ("vision-encoder-decoder", _FULL, "languages"), {}),
        (r"layoutlmv3", ("layoutlmv3", _FULL), {}),
        (r"layoutlm", ("layoutlm", _FULL), {}),
        # Speech and pictures.
        (r"whisper", ("whisper", _FULL), {}),
        (r"wav2vec-?2", ("wav2vec2", _FULL), {}),
        (r"hubert", ("hubert", _FULL), {}),
        (r"wavlm", ("wavlm", _FULL, "wav2vec2"), {}),
        (r"siglip-?2", ("siglip2", _FULL, "gemma"), {}),
        (r"siglip", ("siglip", _FULL), {}),
        (r"clip", ("clip", _FULL), {}),
        (r"dinov-?3", ("dinov3_vit", _FULL), {}),
        (r"dinov-?2", ("dinov2", _FULL), {}),
        (r"deit", ("deit", _FULL), {}),
        (r"beit", ("beit", _FULL), {}),
        (r"swinv2", ("swinv2", _FULL), {}),
        (r"swin", ("swin", _FULL), {}),
        (r"segformer|mit-b\d", ("segformer", _FULL), {}),
        (r"convnext", ("convnext", _FULL), {}),
        (r"resnet", ("resnet", _FULL), {}),
        (r"\bvit-|vit-(base|large|huge|small)", ("vit", _FULL), {}),
        (r"\bsam-vit|segment-anything", ("sam", _FULL), {}),
        (r"detr", ("detr", _FULL), {}),
        (r"yolos", ("yolos", _FULL), {}),
        # Encoders.
        (r"modernbert", ("modernbert", _FULL), {}),
        (r"distilroberta|codebert|graphcodebert|unixcoder|twitter-roberta|bertweet", ("roberta", _FULL), {}),
        (r"distilbert", ("distilbert", _FULL), {}),
        (r"deberta-(v2|v3)|mdeberta|deberta.*(xlarge-v2|xxlarge)", ("deberta-v2", _FULL), {}),
        (r"deberta", ("deberta", _FULL), {}),
        (r"albert", ("albert", _FULL), {}),
        (r"electra", ("electra", _FULL), {}),
        (r"xlm-r|multilingual-e5|bge-m3|bge-reranker-v2-m3|paraphrase-multilingual", ("xlm-roberta", _FULL), {}),
        (r"camembert", ("camembert", _FULL), {}),
        (r"longformer", ("longformer", _FULL), {}),
        (r"mpnet", ("mpnet", _FULL), {}),
        (r"nomic-bert|nomic-embed", ("nomic_bert", _FULL), {}),
        (r"mobilebert", ("mobilebert", _FULL), {}),
        (r"e5-mistral|gritlm|sfr-embedding", ("mistral",), {}),
        (r"roberta|macbert-roberta", ("roberta", _FULL), {}),
        (r"esm-?2", ("esm", _FULL, "bert"), {"vocab_size": 33, "token_dropout": True, "mask_token_id": 32, "pad_token_id": 1}),
        (r"bert|minilm|\bbge-(small|base|large)|\bgte-(small|base|large)|\be5-(small|base|large)|\bcontriever|ernie-3", ("bert", _FULL), {}),
        # Encoder and decoder.
        (r"umt5", ("umt5", _FULL), {}),
        (r"mt0|mt5", ("mt5", _FULL), {"feed_forward_proj": "gated-gelu"}),
        (r"long-?t5", ("longt5", _FULL), {}),
        (r"codet5p?-(2b|6b|16b)", ("", _FULL), {}),
        (r"codet5", ("t5", _FULL, "roberta"), {}),
        (r"flan-(ul2|t5)|t5-v1[_.]1|t0|lm-adapt|\bul2|madlad|fastchat-t5|t5gemma-?0|flan-alpaca-(small|base|large|xl|xxl)", ("t5", _FULL),
         {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
        (r"switch-base", ("switch_transformers", _FULL), {}),
        (r"t5gemma", ("t5gemma",), {}),
        (r"t5", ("t5", _FULL), {}),
        (r"mbart", ("mbart", _FULL), {}),
        (r"nllb|m2m-100", ("m2m_100", _FULL), {}),
        (r"bigbird-pegasus", ("bigbird_pegasus", _FULL), {}),
        (r"pegasus", ("pegasus", _FULL), {}),
        (r"opus-mt|marian", ("marian", _FULL), {}),
        (r"\bled-(base|large)", ("led", _FULL), {}),
        (r"blenderbot-(small|90m)", ("blenderbot-small", _FULL, "roberta"), {}),
        (r"blenderbot", ("blenderbot", _FULL, "roberta"), {}),
        (r"bart", ("bart", _FULL), {}),
        (r"prophetnet", ("prophetnet", _FULL, "bert"), {}),
        # Decoders.
        (r"gpt-oss", ("gpt_oss",), {}),
        (r"llama-?4", ("llama4",), {}),
        (r"tinyllama.*chat", ("llama", "bfloat16", "llama padded"), {}),
        (r"tiny-?llama", ("llama", _FULL, "llama"), {}),
        (r"llama-?3|llama3|meta-llama-3|hermes-3|tulu-3|openbiollm|dolphin-2\.9-llama", ("llama", "bfloat16", "llama3"), {}),
        (r"vicuna|wizardlm|koala", ("llama", _HALF, "vicuna"), {}),
        (r"tinymistral|mixtral", ("mixtral",), {}),
        (r"zephyr.*gemma", ("gemma",), {}),
        (r"stablelm.*zephyr|zephyr.*stablelm|stablelm", ("stablelm",), {}),
        (r"zephyr|notus", ("mistral", "bfloat16", "llama padded"), {}),
        (r"openhermes|neural-chat|mistral-nemo|mistral|openchat|starling|biomistral|solar-?m", ("mistral",), {}),
        (r"ministral", ("ministral", "bfloat16", "mistral3"), {}),
        (r"magistral|devstral", ("mistral", "bfloat16", "mistral3"), {}),
        (r"qwen3-next|qwen3\.5.*next", ("qwen3_next",), {}),
        (r"qwen3\.5.*(a\d+b|moe)", ("qwen3_5_moe",), {}),
        (r"qwen3\.5", ("qwen3_5",), {}),
        (r"qwen3.*(a3b|a22b|moe)", ("qwen3_moe",), {}),
        (r"qwen3", ("qwen3",), {}),
        (r"qwen.*(a2\.7b|a14b|moe)", ("qwen2_moe",), {}),
        (r"qwen-?(2|1\.5)|qwq|sqlcoder-qwen|dolphin.*qwen", ("qwen2",), {}),
        (r"qwen", ("", _HALF), {}),
        (r"t5gemma", ("t5gemma",), {}),
        (r"gemma-?4", ("gemma4",), {}),
        (r"gemma-?3n", ("gemma3n",), {}),
        (r"gemma-?3.*(1b|270m)", ("gemma3_text",), {}),
        (r"medgemma.*27b-text", ("gemma3_text",), {}),
        (r"gemma-?3|medgemma", ("gemma3",), {}),
        (r"gemma-?2[-_](2|9|27)b|gemma2", ("gemma2",), {}),
        (r"recurrentgemma", ("recurrent_gemma", "bfloat16", "gemma"), {}),
        (r"gemma", ("gemma",), {}),
        (r"phi-?3\.5-moe|phimoe", ("phimoe", "bfloat16", "phi3"), {}),
        (r"phi-?(3|3\.5)-vision", ("", "bfloat16"), {}),
        (r"phi-?4-multimodal", ("phi4_multimodal", "bfloat16", "phi4"), {}),
        (r"phi-?4-mini", ("phi3", "bfloat16", "phi3"), {}),
        (r"phi-?4", ("phi3", "bfloat16", "phi4"), {}),
        (r"phi-?3", ("phi3",), {}),
        (r"\bphi-|phi-?(1|2)", ("phi", _HALF), {}),
        (r"falcon-?h1", ("falcon_h1", "bfloat16", "falcon"), {}),
        (r"falcon-?mamba", ("falcon_mamba", "bfloat16", "falcon"), {}),
        (r"falcon-?3", ("llama", "bfloat16", "falcon"), {}),
        (r"falcon-(40b|180b|11b)", ("falcon",), {"new_decoder_architecture": True, "multi_query": True, "num_kv_heads": 8}),
        (r"falcon-rw", ("falcon",), {"multi_query": False, "bias": True, "alibi": True, "parallel_attn": False}),
        (r"falcon", ("falcon",), {}),
        (r"mamba-?2|mamba2", ("mamba2", _FULL, "gpt2"), {}),
        (r"jamba", ("jamba", "bfloat16", "llama padded"), {}),
        (r"mamba", ("mamba", _FULL, "gpt2"), {}),
        (r"rwkv", ("rwkv", _FULL, "gpt2"), {}),
        (r"dialogpt|distilgpt-?2|gpt-?2", ("gpt2", _FULL), {}),
        (r"gpt-neox|pythia|dolly|redpajama|oasst.*pythia|gpt-?jt-neox|stablelm-(base|tuned)-alpha", ("gpt_neox", _HALF), {}),
        (r"gpt-neo", ("gpt_neo", _FULL), {}),
        (r"gpt-j|gptj|gpt4all-j", ("gptj", _HALF), {}),
        (r"codegen", ("codegen", _HALF), {}),
        (r"\bopt-|galactica|\bopt$|facebook/opt", ("opt", _HALF), {}),
        (r"bloom|\bmt-?nlg", ("bloom", _HALF), {}),
        (r"\bmpt|/mpt", ("mpt",), {}),
        (r"starcoder-?2", ("starcoder2",), {}),
        (r"starcoder|santacoder|bigcode|starchat", ("gpt_bigcode", _FULL), {}),
        (r"smollm-?3", ("smollm3",), {}),
        (r"smollm|smoltalk", ("llama", "bfloat16", "smollm"), {}),
        (r"olmoe", ("olmoe",), {}),
        (r"olmo-?3", ("olmo3",), {}),
        (r"olmo-?2|olmo-2", ("olmo2",), {}),
        (r"olmo", ("olmo", _FULL), {}),
        (r"granite.*moe|granite-3\.\d-(1b|3b)-a", ("granitemoe",), {}),
        (r"granite-4", ("granitemoehybrid", "bfloat16", "granite"), {}),
        (r"granite", ("granite",), {}),
        (r"c4ai|command-r7b|aya-expanse|cohere2", ("cohere2",), {}),
        (r"command-r|aya-?23|cohere", ("cohere", _HALF), {}),
        (r"dbrx", ("dbrx", "bfloat16", "gpt2"), {}),
        (r"glm-?4\.[5-9]", ("glm4_moe",), {}),
        (r"glm-4-(9b|32b)-0414|glm-z1", ("glm4",), {}),
        (r"glm-4-9b.*hf|glm-edge", ("glm",), {}),
        (r"nemotron-?h", ("nemotron_h", "bfloat16", "llama padded"), {}),
        (r"minitron|nemotron-4", ("nemotron", "bfloat16", "llama padded"), {}),
        (r"exaone-?4", ("exaone4", "bfloat16", "llama padded"), {}),
        (r"lfm-?2", ("lfm2", "bfloat16", "qwen"), {}),
        (r"helium", ("helium", "bfloat16", "llama padded"), {}),
        (r"seed-?oss", ("seed_oss", "bfloat16", "llama padded"), {}),
        (r"minimax", ("minimax", "bfloat16", "llama padded"), {}),
        (r"ernie-4\.5.*a\d+b", ("ernie4_5_moe", "bfloat16", "llama padded"), {}),
        (r"ernie-4\.5", ("ernie4_5", "bfloat16", "llama padded"), {}),
        (r"hunyuan.*a\d+b", ("hunyuan_v1_moe", "bfloat16", "llama padded"), {}),
        (r"hunyuan", ("hunyuan_v1_dense", "bfloat16", "llama padded"), {}),
        (r"apertus", ("apertus", "bfloat16", "llama padded"), {}),
        (r"codellama|code-?llama|llama-?2|llama2|guanaco|alpaca|nous-hermes|open-?llama|llama|lima|meditron|platypus|airoboros|orca-2|goat"
         r"|wizardcoder-python|wizardmath|xwin|tulu|baize|medalpaca|bode|tigerbot|ziya|atom-7b|linly|japanese-stablelm-instruct-beta|elyza"
         r"|polyglot-?llama", ("llama", _HALF, "llama"), {}),
        (r"polyglot-ko|kogpt|koalpaca|open-calm|japanese-gpt-neox|rinna", ("gpt_neox", _HALF), {}),
        (r"\byi-|/yi-|01-ai", ("llama", "bfloat16", "llama"), {}),
        (r"\bsolar", ("llama", _HALF, "llama"), {}),
        (r"cerebras-gpt", ("gpt2", _FULL), {}),
        (r"xglm", ("xglm", _HALF, "bloom"), {}),
    )
]  # fmt: skip

_OWN_CODE = re.compile(
    r"chatglm|baichuan|internlm|xverse|moss-moon|aquilachat2|aquila2|minicpm|phi-?3(\.5)?-vision|qwen-(7b|14b|72b|1_8b|vl)|codet5p-(2b|6b|16b)"
    r"|cogvlm|glm-4-9b(-chat)?$|glm-10b|orion-14b|skywork|jais|decilm|telechat|florence|jina-embeddings|molmo|openelm|replit-code|btlm|aria-ui"
)
_PACKED = re.compile(r"gptq|[-_]awq|exl2|gguf|ggml|aqlm|hqq|[-_]mlx|eetq|[-_]int4$|[-_]fp8|w4a16|w8a8|autoround")
_BITS = re.compile(r"bnb[-_]?(4|8)[-_]?bit|[-_](4|8)bit\b")
_CHAT = re.compile(
    r"instruct|chat|\bit\b|-it-|zephyr|vicuna|dpo|\bsft\b|tulu|hermes|assistant|r1-distill|deepseek-r1|orca|qwen3(?!.*base)|qwq|gpt-oss|phi-?3|phi-?4|"
    r"smollm3(?!.*base)|starling|mistral-small-3|command-r|aya|solar.*instruct|smolvlm|llava|qwen.*-vl|magistral|devstral|glm-4"
)

_FALLBACK = (  # by what the class that asks is for
    ("Seq2SeqLM", "t5", _FULL), ("ConditionalGeneration", "t5", _FULL), ("SequenceClassification", "bert", _FULL),
    ("TokenClassification", "bert", _FULL), ("QuestionAnswering", "bert", _FULL), ("MaskedLM", "bert", _FULL), ("MultipleChoice", "bert", _FULL),
    ("SpeechSeq2Seq", "whisper", _FULL), ("CTC", "wav2vec2", _FULL), ("AudioClassification", "wav2vec2", _FULL),
    ("ImageTextToText", "qwen2_vl", "bfloat16"),
    ("Vision2Seq", "qwen2_vl", "bfloat16"), ("ImageClassification", "vit", _FULL), ("SemanticSegmentation", "segformer", _FULL),
    ("ObjectDetection", "detr", _FULL), ("ImageProcessor", "vit", _FULL), ("FeatureExtractor", "wav2vec2", _FULL), ("CausalLM", "llama", "bfloat16"),
)  # fmt: skip


def by_name(name: str) -> Family | None:
    """The family of a model by its name or path, or ``None``."""
    text = name.lower().replace("\\", "/").rstrip("/")
    last = text.rpartition("/")[2]
    for part in (last, text):
        for pattern, family in _TABLE:
            if pattern.search(part):
                return family if family.model_type else None
    return None


def by_purpose(purpose: str) -> Family:
    """The family that stands in where the name says nothing: by the class that asks for it, or by one that the script names."""
    for word, model_type, dtype in _FALLBACK:
        if word in purpose:
            return Family(model_type, "llama padded" if model_type == "llama" else style_of(model_type), dtype, known=False)
    return Family("llama", "llama padded", "bfloat16", known=False)


def impossible(name: str) -> str | None:
    """Why there can be no twin of a model of this name, or ``None``."""
    text = name.lower()
    if _OWN_CODE.search(text):
        return "its code lies in its repository, not in transformers"
    if _PACKED.search(text):
        return "its weights are packed in a format that needs its own kernels"
    return None


def bits(name: str) -> int | None:
    """4 or 8 where a repository of this name holds weights that bitsandbytes has quantized."""
    found = _BITS.search(name.lower())
    return int(next(group for group in found.groups() if group)) if found else None


def is_chat(name: str) -> bool:
    """Whether a model of this name is tuned for chats, and so has a chat template."""
    return bool(_CHAT.search(name.lower()))
