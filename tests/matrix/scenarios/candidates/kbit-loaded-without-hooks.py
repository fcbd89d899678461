"""from_pretrained() in 4 bits with everything on one device: do the modules get no hooks?

Real, but the one device is the CPU. Can only be asked where transformers and bitsandbytes load 4 bits on a CPU.
"""

from _common import Answer, really_loaded_in_bits, report


def ask() -> Answer:
    model = really_loaded_in_bits(4, device_map={"": "cpu"})
    hooked = sum(hasattr(module, "_hf_hook") for module in model.modules())
    return Answer(hooked == 0, why=f"{hooked} modules have hooks")


report(ask)
