"""What the scenarios share: tiny models, models in 4 or 8 bits, a training probe, and the report. On CPU, without a hub."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", WANDB_DISABLED="true", CUDA_VISIBLE_DEVICES="", TQDM_DISABLE="1")
warnings.simplefilter("ignore")

import torch  # noqa: E402 - after the variables that it reads

NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"


class CannotAskError(Exception):
    """The question makes no sense on the installed libraries; the text says why."""


@dataclass
class Answer:
    """Whether the fact holds here, the first line of the exception that shows it, and how it was found: run, emulated or source."""

    holds: bool | None
    message: str = ""
    why: str = ""
    how: str = "run"


def report(ask: Callable[[], Answer]) -> None:
    """Print the answer as one JSON line. Any exception but ``CannotAskError`` is a fault of the scenario and passes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    try:
        answer = ask()
    except CannotAskError as reason:
        answer = Answer(None, why=str(reason))
    print(json.dumps(asdict(answer)), flush=True)


def failure(call: Callable[[], Any]) -> str:
    """The first line of the exception that a call raises, as ``Class: text``; empty where it raises none."""
    try:
        call()
    except Exception as error:
        text = str(error).strip()
        return f"{type(error).__name__}: {text.splitlines()[0].strip() if text else ''}"
    return ""


def fails_with(text: str, call: Callable[[], Any], how: str = "run") -> Answer:
    """Holds where the call fails with this text, not where it runs. Raises ``CannotAskError`` where it fails otherwise."""
    message = failure(call)
    if message and text not in message:
        raise CannotAskError(f"it fails otherwise: {message}")
    return Answer(bool(message), message, "" if message else "no exception", how)


def tiny_llama(**config: Any) -> Any:
    """A Llama of two layers with random weights, in training mode."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 128, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return LlamaForCausalLM(LlamaConfig(**{**sizes, **tokens, "num_key_value_heads": 4, "max_position_embeddings": 64, **config})).train()


def saved(model: Any) -> str:
    """A new folder with the saved model or adapter."""
    folder = tempfile.mkdtemp()
    model.save_pretrained(folder)
    return folder


@contextmanager
def zero3_active() -> Iterator[None]:
    """As if TrainingArguments with a ZeRO-3 configuration were alive."""
    import weakref

    try:
        from transformers.integrations import deepspeed
    except ImportError:  # where the first releases have it
        from transformers import deepspeed

    class Stage3:
        config: dict[str, Any] = {}  # noqa: RUF012

        def is_zero3(self) -> bool:
            return True

    active = Stage3()
    deepspeed._hf_deepspeed_config_weak_ref = weakref.ref(active)
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = None


def lora(**fields: Any) -> Any:
    """A LoRA configuration for ``tiny_llama``."""
    from peft import LoraConfig

    return LoraConfig(**{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM", "lora_dropout": 0.0, **fields})


def adapter_folder() -> str:
    """A new folder with a LoRA adapter for ``tiny_llama`` whose weights are not zero."""
    from peft import get_peft_model

    model = get_peft_model(tiny_llama(), lora())
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    return saved(model)


def token_ids() -> torch.Tensor:
    """Two rows of eight token ids."""
    return torch.arange(16).reshape(2, 8) + 3


def train(model: Any) -> None:
    """Two steps of a plain loop over all parameters, in training mode."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(input_ids=token_ids(), labels=token_ids()).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def checkpointing_needs_input_grads() -> bool:
    """Whether LoRA with checkpointing switched on after the wrap fails here; the facts about TRL can only be asked where it does."""
    from peft import get_peft_model

    model = get_peft_model(tiny_llama(), lora())
    model.gradient_checkpointing_enable()
    return NO_GRAPH in failure(lambda: train(model))


def loaded_in_bits(bits: int) -> tuple[Any, str]:
    """A tiny Llama in 4 or 8 bits, and how it was made.

    "run": transformers and bitsandbytes really loaded it on the CPU. "emulated": they need a GPU for that, so it is a model in full precision with
    the marks that transformers leaves on a quantized one (``is_quantized``, ``is_loaded_in_8bit``, ``quantization_method``); these are all that the
    guards of its methods look at.
    """
    try:
        return really_loaded_in_bits(bits), "run"
    except CannotAskError:
        return marked(tiny_llama(), bits), "emulated"


def really_loaded_in_bits(bits: int, **keywords: Any) -> Any:
    """A tiny Llama in 4 or 8 bits as from_pretrained loads it. Raises ``CannotAskError`` where that needs a GPU."""
    from transformers import BitsAndBytesConfig, LlamaForCausalLM

    folder = saved(tiny_llama())
    config = BitsAndBytesConfig(load_in_4bit=bits == 4, load_in_8bit=bits == 8, bnb_4bit_quant_type="nf4")
    loaded: list[Any] = []
    message = failure(lambda: loaded.append(LlamaForCausalLM.from_pretrained(folder, quantization_config=config, **keywords)))
    if message or not getattr(loaded[0], f"is_loaded_in_{bits}bit", False):
        raise CannotAskError(f"{bits} bits are not loaded on a CPU here: {message or 'the configuration is ignored'}")
    return loaded[0]


def marked(model: Any, bits: int | None) -> Any:
    """The model with the marks of one that bitsandbytes quantized; without ``bits``, those that it bears while it is still being loaded."""
    model.is_quantized = True
    try:
        from transformers.utils.quantization_config import QuantizationMethod
    except ImportError:  # the first releases have no such mark
        pass
    else:
        model.quantization_method = QuantizationMethod.BITS_AND_BYTES
    if bits is not None:
        setattr(model, f"is_loaded_in_{bits}bit", True)
    return model


def refuses(text: str, bits: int, call: Callable[[Any], Any]) -> Answer:
    """Holds where a model in 4 or 8 bits refuses the call with this text.

    Without a GPU a call that gets past the guard ends at torch's own "not compiled with CUDA", which counts as accepted. Other errors, other
    refusals among them, are reported as "does not hold" with what was said instead.
    """
    model, how = loaded_in_bits(bits)
    message = failure(lambda: call(model))
    if text in message:
        return Answer(True, message, how=how)
    return Answer(False, why=f"instead: {message}" if message else "no exception", how=how)


def tokenizer(**settings: Any) -> Any:
    """A tokenizer of 128 made-up words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, **{f"w{i}": i for i in range(4, 128)}}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokens = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, **{**tokens, **settings})


def sft_trainer(model: Any, arguments: dict[str, Any] | None = None, words: Any = None, rows: Any = None, **more: Any) -> Any:
    """An SFTTrainer over eight made-up texts, two steps on the CPU, with each argument where the installed TRL wants it.

    ``words`` is its tokenizer and ``rows`` its dataset, where they are not the usual ones.
    """
    import inspect

    import trl
    from datasets import Dataset
    from transformers import TrainingArguments

    texts_of_rows = [" ".join(f"w{4 + (i * 7 + j) % 120}" for j in range(12)) for i in range(8)]
    rows = rows if rows is not None else Dataset.from_dict({"text": texts_of_rows})
    config = getattr(trl, "SFTConfig", TrainingArguments)
    takes, of_trainer = inspect.signature(config).parameters, inspect.signature(trl.SFTTrainer.__init__).parameters
    short = {"max_steps": 2, "per_device_train_batch_size": 2, "report_to": [], "save_strategy": "no", "disable_tqdm": True, "bf16": False}
    texts = {"dataset_text_field": "text", "max_seq_length": 16, "max_length": 16}
    wanted = {"output_dir": tempfile.mkdtemp(), **short, "use_cpu": True, "no_cuda": True, **texts}
    if "use_cpu" in takes:
        del wanted["no_cuda"]
    given = {name: value for name, value in wanted.items() if name in takes}
    direct = {name: wanted[name] for name in ("dataset_text_field", "max_seq_length") if name not in takes and name in of_trainer}
    tokens = {"processing_class" if "processing_class" in of_trainer else "tokenizer": words if words is not None else tokenizer()}
    return trl.SFTTrainer(model=model, args=config(**given, **(arguments or {})), train_dataset=rows, **tokens, **direct, **more)
