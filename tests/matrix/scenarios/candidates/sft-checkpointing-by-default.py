"""Is gradient_checkpointing True in an SFTConfig that does not speak of it? Nothing is emulated."""

from _common import Answer, CannotAskError, report, sft_trainer, tiny_llama


def ask() -> Answer:
    import trl

    if not hasattr(trl, "SFTConfig"):
        raise CannotAskError("there is no SFTConfig")
    return Answer(bool(sft_trainer(tiny_llama()).args.gradient_checkpointing))


report(ask)
