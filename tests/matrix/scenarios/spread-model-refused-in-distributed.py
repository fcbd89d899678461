"""Accelerator.prepare() of a model that device_map spread over two GPUs, in a distributed run: is it refused?

Emulated: the map of two entries is written by hand, and the accelerator is told that it runs on several GPUs; nothing else decides.
"""

from _common import Answer, failure, report, tiny_llama


def ask() -> Answer:
    from accelerate import Accelerator
    from accelerate.utils import DistributedType

    model = tiny_llama()
    model.hf_device_map = {"model": 0, "lm_head": 1}
    accelerator = Accelerator(cpu=True)
    accelerator.state._shared_state["distributed_type"] = DistributedType.MULTI_GPU
    message = failure(lambda: accelerator.prepare_model(model, device_placement=False))
    if "You can't train a model that has been loaded with `device_map='auto'`" in message:
        return Answer(True, message, how="emulated")
    return Answer(False, why=f"instead: {message}" if message else "no exception", how="emulated")


report(ask)
