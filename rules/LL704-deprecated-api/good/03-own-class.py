"""The keyword is one of the project's own class."""
# target: transformers==4.44.2

from dataclasses import dataclass


@dataclass
class Settings:
    evaluation_strategy: str = "no"


settings = Settings(evaluation_strategy="steps")
