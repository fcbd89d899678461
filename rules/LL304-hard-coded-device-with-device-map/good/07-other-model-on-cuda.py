"""Fine: the hard-coded device belongs to the small encoder, which has no map; the large model gets its own."""
import torch
import transformers as tf

encoder_name, writer_name = "FacebookAI/roberta-base", "meta-llama/Llama-2-13b-hf"
encoder = tf.AutoModelForSequenceClassification.from_pretrained(encoder_name, num_labels=2).to("cuda").eval()
writer = tf.AutoModelForCausalLM.from_pretrained(writer_name, device_map="auto", torch_dtype=torch.float16).eval()
read, write = tf.AutoTokenizer.from_pretrained(encoder_name), tf.AutoTokenizer.from_pretrained(writer_name)

with torch.no_grad():
    for line in open("prompts.txt"):
        wanted = encoder(**read(line.strip(), return_tensors="pt").to("cuda")).logits.argmax().item()
        if wanted:
            prompt = write(line.strip(), return_tensors="pt").to(writer.device)
            print(write.decode(writer.generate(**prompt, max_new_tokens=16)[0], skip_special_tokens=True))
