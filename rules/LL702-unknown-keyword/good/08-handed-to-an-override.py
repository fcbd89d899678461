"""The base hands what it does not know to a method that the class overrides."""

from transformers import Pipeline


class AnswerPipeline(Pipeline):
    def __init__(self, *args, max_new_tokens: int = 256, **kwargs):
        super().__init__(*args, max_new_tokens=max_new_tokens, **kwargs)

    def _sanitize_parameters(self, max_new_tokens=None, **kwargs):
        return {}, {"max_new_tokens": max_new_tokens}, {}
