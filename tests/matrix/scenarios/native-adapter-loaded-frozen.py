"""model.load_adapter(folder) of transformers, then two steps: does backward() find no graph? Nothing is emulated.

The first releases have no such method, so the sentence does not hold there.
"""

from _common import NO_GRAPH, Answer, CannotAskError, adapter_folder, failure, report, tiny_llama, train


def ask() -> Answer:
    model = tiny_llama()
    if not hasattr(model, "load_adapter"):
        return Answer(False, why="models have no load_adapter()")
    loading = failure(lambda: model.load_adapter(adapter_folder()))
    if loading:
        raise CannotAskError(f"load_adapter() fails: {loading}")
    adapters = [parameter for name, parameter in model.named_parameters() if "lora_" in name]
    frozen = not any(parameter.requires_grad for parameter in adapters)
    message = failure(lambda: train(model))
    if not adapters or (message and NO_GRAPH not in message) or frozen != bool(message):
        raise CannotAskError(f"{len(adapters)} adapter tensors, frozen: {frozen}, but training says: {message or 'nothing'}")
    return Answer(frozen, message)


report(ask)
