"""from_pretrained(low_cpu_mem_usage=True) while a ZeRO-3 configuration is active: is it refused?

Emulated: DeepSpeed is not needed for the refusal, so a stand-in that says "stage 3" is put where transformers keeps the active configuration.
Releases that do not refuse go on to DeepSpeed itself, which is not there: that counts as not refused.
"""

from _common import Answer, failure, report, saved, tiny_llama, zero3_active


def ask() -> Answer:
    from transformers import LlamaForCausalLM

    folder = saved(tiny_llama())
    with zero3_active():
        message = failure(lambda: LlamaForCausalLM.from_pretrained(folder, low_cpu_mem_usage=True))
    if "DeepSpeed Zero-3 is not compatible with" in message:
        return Answer(True, message, how="emulated")
    return Answer(False, why=f"instead: {message}" if message else "no exception", how="emulated")


report(ask)
