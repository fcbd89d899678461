"""IA3 has no rank."""

from peft import IA3Config

config = IA3Config(r=8, target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"])  # LL410
