"""A loader takes the settings of the model's configuration, too."""

from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained(
    "roberta-base", num_labels=3, hidden_dropout_prob=0.1, problem_type="single_label_classification", use_cache=False
)
