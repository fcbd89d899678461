"""Fine: the quantized model stays where it is; the small scorer beside it is the one that is moved and cast."""
import torch
import transformers as tf

generator_name, scorer_name = "meta-llama/Llama-2-7b-hf", "FacebookAI/roberta-large"
quantization = tf.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.float16)
generator = tf.AutoModelForCausalLM.from_pretrained(generator_name, quantization_config=quantization).eval()
scorer = tf.AutoModelForSequenceClassification.from_pretrained(scorer_name, num_labels=2).half().cuda().eval()
writer, reader = tf.AutoTokenizer.from_pretrained(generator_name), tf.AutoTokenizer.from_pretrained(scorer_name)

with torch.no_grad():
    for line in open("prompts.txt"):
        prompt = writer(line.strip(), return_tensors="pt").to(generator.device)
        text = writer.decode(generator.generate(**prompt, max_new_tokens=24)[0], skip_special_tokens=True)
        score = scorer(**reader(text, return_tensors="pt").to(scorer.device)).logits.softmax(-1)[0, 1]
        print(f"{score.item():.2f} {text}")
