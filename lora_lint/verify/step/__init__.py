"""The child of ``--verify``: runs the user's script up to its first optimizer step and writes down what happened.

A package of its own, loaded by its folder under the name ``lora_lint_step`` into the interpreter of the training environment (Python 3.9 or
newer), where nothing of the rest of the project is installed. It uses the standard library and the training libraries alone.
"""
