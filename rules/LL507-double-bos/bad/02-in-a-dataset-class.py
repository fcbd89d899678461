"""A torch dataset over conversations for Mistral; the prefix is counted with a second BOS as well."""
import torch
from torch.utils.data import Dataset
from transformers import AutoTokenizer


class Chats(Dataset):
    def __init__(self, rows, tok):
        self.rows, self.tok = rows, tok

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        turns = self.rows[i]["conversation"]
        whole = self.tok.apply_chat_template(turns, tokenize=False)
        prefix = self.tok.apply_chat_template(turns[:-1], tokenize=False, add_generation_prompt=True)
        ids = self.tok.encode(whole)  # LL507
        n = len(self.tok(prefix)["input_ids"])  # LL507
        return {"input_ids": torch.tensor(ids), "labels": torch.tensor([-100] * n + ids[n:])}


def main(rows):
    return Chats(rows, AutoTokenizer.from_pretrained("mistralai/Mistral-7B-Instruct-v0.2"))[0]
