"""``python -m lora_lint``."""

from lora_lint.cli import main

if __name__ == "__main__":
    main()
