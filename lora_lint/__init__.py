"""lora-lint: the linter for fine-tuning scripts, run before the GPU is paid for."""

__version__ = "0.1.0"
