"""The pull-request bot, ``lora-lint review``: reports what a pull request introduces, as one review.

The merge base and the head are fetched as archives and unpacked, never run: both are linted, with the configuration of the base, and what is found
at the head alone is new (``compare``). A pure plan (``plan``) says which comments to write, edit and delete, given those of earlier runs; a forge
(``github``, ``gitlab``) carries it out. Nothing of the head is imported or executed, and its settings have no effect.
"""
