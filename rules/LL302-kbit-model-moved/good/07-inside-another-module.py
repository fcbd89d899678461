"""Fine: the move goes through nn.Module; the guards of the quantized model are not on the way, and the head has to move."""
from torch import nn
from transformers import AutoModel, BitsAndBytesConfig


class RewardModel(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.base = AutoModel.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True), device_map={"": 0})
        self.head = nn.Linear(self.base.config.hidden_size, 1)

    def forward(self, **batch):
        return self.head(self.base(**batch).last_hidden_state[:, -1])


model = RewardModel("gpt2")
model.cuda()
