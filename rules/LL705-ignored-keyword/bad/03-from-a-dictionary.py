"""The keyword stands in a dictionary of options."""

from transformers import BitsAndBytesConfig

OPTIONS = {
    "load_in_8bit": True,
    "load_in_8bit_skip_modules": ["lm_head"],  # LL705
}


class Loader:
    def quantization(self):
        return BitsAndBytesConfig(**OPTIONS)
