"""SFTTrainer around a prepared and wrapped 8-bit model: is no adapter trainable afterwards?

Nothing is emulated; can only be asked where transformers and bitsandbytes load 8 bits on a CPU.
"""

from _common import Answer, CannotAskError, failure, lora, really_loaded_in_bits, report, sft_trainer


def ask() -> Answer:
    from peft import get_peft_model, prepare_model_for_kbit_training

    model = get_peft_model(prepare_model_for_kbit_training(really_loaded_in_bits(8)), lora())
    message = failure(lambda: sft_trainer(model))
    if message:
        raise CannotAskError(f"there is no trainer: {message}")
    trainable = sum(parameter.requires_grad for name, parameter in model.named_parameters() if "lora_" in name)
    return Answer(trainable == 0, why=f"{trainable} adapter tensors are trainable")


report(ask)
