"""The base is an attribute, the loop asks for the next adapter."""
from peft import PeftModel
from transformers import AutoModelForCausalLM


class Server:
    def __init__(self, base, queue):
        self.base = AutoModelForCausalLM.from_pretrained(base)
        self.queue = queue

    def export_all(self):
        while not self.queue.empty():
            path = self.queue.get()
            tuned = PeftModel.from_pretrained(self.base, path)
            tuned = tuned.merge_and_unload(safe_merge=True)  # LL414
            tuned.save_pretrained(path + "-merged")


def serve(queue):
    Server("Qwen/Qwen2.5-0.5B", queue).export_all()
