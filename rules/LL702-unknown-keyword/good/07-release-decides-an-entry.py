"""Which name goes into the dictionary depends on the release, as a helper of the project finds out."""

from transformers import Trainer

from my_project.versions import is_package_version_at_least


def build(model, args, tokenizer):
    keywords = {"model": model, "args": args}
    if is_package_version_at_least("transformers", "4.46.0"):
        keywords["processing_class"] = tokenizer
    else:
        keywords["tokenizer"] = tokenizer
    return Trainer(**keywords)
