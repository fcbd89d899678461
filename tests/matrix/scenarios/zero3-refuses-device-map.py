"""from_pretrained(device_map=...) while a ZeRO-3 configuration is active: is it refused?

Emulated: DeepSpeed is not needed for the refusal, so a stand-in that says "stage 3" is put where transformers keeps the active configuration.
"""

from _common import Answer, fails_with, report, saved, tiny_llama, zero3_active


def ask() -> Answer:
    from transformers import LlamaForCausalLM

    folder = saved(tiny_llama())
    with zero3_active():
        return fails_with(
            "DeepSpeed Zero-3 is not compatible with", lambda: LlamaForCausalLM.from_pretrained(folder, device_map={"": "cpu"}), "emulated"
        )


report(ask)
