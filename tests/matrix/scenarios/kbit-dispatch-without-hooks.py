"""accelerate.dispatch_model() of a quantized model on one device: does it attach no hooks?

Real: dispatch_model(). Emulated: the quantized model is a plain one with the marks that it bears when transformers calls dispatch_model(), and the
one device is the CPU.
"""

from _common import Answer, marked, report, tiny_llama


def ask() -> Answer:
    from accelerate import dispatch_model

    model = dispatch_model(marked(tiny_llama(), bits=None), {"": "cpu"})
    hooked = sum(hasattr(module, "_hf_hook") for module in model.modules())
    return Answer(hooked == 0, why=f"{hooked} modules have hooks", how="emulated")


report(ask)
