"""A false alarm: an assertion in another function rules out that a quantized model is trained in full; assertions are not followed."""
# today: LL302
# target: transformers==4.44.2 bitsandbytes==0.43.3
import argparse

from transformers import AutoModelForCausalLM, BitsAndBytesConfig


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=None)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    assert not (args.full and args.bits)
    return args


args = parse()
config = BitsAndBytesConfig(load_in_8bit=True) if args.bits else None
model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=config)
if args.full:
    model = model.float()
