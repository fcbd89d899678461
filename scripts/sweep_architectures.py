"""Try the twin of every architecture: build it, add LoRA, make one step of AdamW; writes ``scripts/architectures.tsv``.

    python scripts/sweep_architectures.py [--only llama,mistral] [--write]

Each architecture of causal, sequence-to-sequence and sequence classification models that the installed transformers has. Runs in this process, one
after another, with a limit of time for each. The table has a column for each transformers release that was swept.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("architectures.tsv")
MAPPINGS = {
    "CausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "Seq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "SequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
}
SECONDS = 40


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """End what runs after some seconds with TimeoutError."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def linear_names(model: Any) -> list[str]:
    """The last parts of the names of a model's plain linear layers, but for heads and for what PEFT refuses in state space models."""
    found = {name.rpartition(".")[2] for name, part in model.named_modules() if type(part).__name__ in ("Linear", "Conv1D")}
    found = {name for name in found if not name.isdigit()}
    return sorted(found - {"lm_head", "score", "classifier", "pre_classifier", "out_proj", "embed_out"})


def attempt(task: str, model_type: str) -> str:
    """``ok``, ``partial`` (some called adapters without gradient), or the error."""
    import peft
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from lora_lint.verify.step.twin.shrink import shrunk

    config = shrunk(CONFIG_MAPPING[model_type]())
    text = config.get_text_config()
    for part in (config, text):
        if task == "SequenceClassification" and getattr(part, "pad_token_id", None) is None:
            part.pad_token_id = 0
    torch.manual_seed(0)
    model = getattr(transformers, f"AutoModelFor{task}").from_config(config)
    size = sum(parameter.numel() for parameter in model.parameters())
    if size > 4e7:
        return f"too big: {size / 1e6:.0f} M"
    kind = {"CausalLM": "CAUSAL_LM", "Seq2SeqLM": "SEQ_2_SEQ_LM", "SequenceClassification": "SEQ_CLS"}[task]
    try:
        wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, task_type=kind))
    except ValueError:
        wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=linear_names(model), task_type=kind))
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    wrapped.train()
    batch: dict[str, Any] = {"input_ids": torch.randint(5, 30, (2, 16)), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
    if isinstance(getattr(text, "eos_token_id", None), int):  # the encoder-decoders classify at the last one
        batch["input_ids"][:, -1] = text.eos_token_id
    batch["labels"] = torch.tensor([0, 1]) if task == "SequenceClassification" else batch["input_ids"].clone()
    optimizer = torch.optim.AdamW([parameter for parameter in wrapped.parameters() if parameter.requires_grad], lr=1e-3)
    loss = wrapped(**batch).loss
    loss.backward()
    optimizer.step()
    adapters = [parameter for name, parameter in wrapped.named_parameters() if "lora_" in name]
    with_grad = sum(parameter.grad is not None for parameter in adapters)
    if not bool(loss.isfinite()):
        return "loss is not finite"
    return "ok" if with_grad == len(adapters) else f"partial {with_grad}/{len(adapters)}" if with_grad else "no gradient"


def sweep(only: set[str]) -> dict[tuple[str, str], str]:
    """The result of each task and architecture."""
    import torch
    from transformers.models.auto import modeling_auto
    from transformers.utils import logging

    logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    found = {}
    for task, mapping in MAPPINGS.items():
        for model_type in getattr(modeling_auto, mapping):
            if only and model_type not in only:
                continue
            began = time.monotonic()
            try:
                with limited(SECONDS):
                    result = attempt(task, model_type)
            except Exception as error:
                result = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
            found[task, model_type] = result
            print(f"{task}\t{model_type}\t{result}\t{time.monotonic() - began:.1f} s", flush=True)
            gc.collect()
    return found


def write(found: dict[tuple[str, str], str], version: str) -> None:
    """Put a column into the table."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    columns: list[str] = []
    if TABLE.exists():
        header, *lines = TABLE.read_text(encoding="utf-8").splitlines()
        columns = header.split("\t")[2:]
        for line in lines:
            task, model_type, *results = line.split("\t")
            rows[task, model_type] = dict(zip(columns, results, strict=True))
    columns = sorted({*columns, version}, key=lambda text: [int(part) for part in text.split(".")])
    for key, result in found.items():
        rows.setdefault(key, {})[version] = result
    text = ["\t".join(["task", "architecture", *columns])]
    text += ["\t".join([*key, *(results.get(column, "-") for column in columns)]) for key, results in sorted(rows.items())]
    TABLE.write_text("\n".join(text) + "\n", encoding="utf-8")


def main() -> None:
    """Sweep, and say how many pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="model types, with commas between")
    parser.add_argument("--write", action="store_true", help="put the results into the table")
    options = parser.parse_args()
    import transformers

    found = sweep(set(filter(None, options.only.split(","))))
    for task in MAPPINGS:
        results = [result for (of, _), result in found.items() if of == task]
        print(f"{task}: {sum(result.startswith(('ok', 'partial')) for result in results)} of {len(results)}")
    if options.write:
        write(found, transformers.__version__)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
