"""from_pretrained with quantization_config and load_in_4bit=True: refused for the pair?

The call is real. Where the pair is accepted, the load goes on and ends at the missing GPU or library; where the keyword is gone, at the TypeError.
"""

from _common import Answer, CannotAskError, failure, report, saved, tiny_llama

PAIR = "You can't pass `load_in_4bit`or `load_in_8bit` as a kwarg when passing `quantization_config` argument at the same time."
LATER = ("No GPU found", "requires Accelerate", "requires the latest version of bitsandbytes", "unexpected keyword argument 'load_in_4bit'")


def ask() -> Answer:
    from transformers import BitsAndBytesConfig, LlamaForCausalLM

    folder = saved(tiny_llama())
    config = BitsAndBytesConfig(load_in_4bit=True)
    message = failure(lambda: LlamaForCausalLM.from_pretrained(folder, quantization_config=config, load_in_4bit=True))
    if PAIR in message:
        return Answer(True, message)
    if message and not any(text in message for text in LATER):
        raise CannotAskError(f"it fails otherwise: {message}")
    return Answer(False, why=f"instead: {message}" if message else "no exception")


report(ask)
