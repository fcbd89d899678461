"""The new argument takes another value, and the old one is known at run time only: there is no fix."""
# target: transformers==5.24.0

import argparse

from transformers import TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--group", action="store_true")
options = parser.parse_args()
args = TrainingArguments("out", group_by_length=options.group)  # LL702
