"""Which options are passed is known at run time only."""

from transformers import BitsAndBytesConfig


def quantization(**options):
    return BitsAndBytesConfig(load_in_4bit=True, **options)
