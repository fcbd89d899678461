"""Fine: whichever of the two models is frozen, the optimizer gets the parameters of the other."""
import argparse

import torch
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel

args = argparse.Namespace(train_unet=torch.cuda.is_available())
unet = UNet2DConditionModel.from_pretrained("sd", subfolder="unet")
text = CLIPTextModel.from_pretrained("sd", subfolder="text_encoder")
if args.train_unet:
    text.requires_grad_(False)
else:
    unet.requires_grad_(False)
opt = torch.optim.AdamW(unet.parameters() if args.train_unet else text.parameters(), lr=1e-5)
for batch in torch.utils.data.DataLoader(torch.load("rows.pt"), batch_size=2):
    states = text(batch["input_ids"])[0]
    unet(batch["latents"], batch["steps"], states).sample.pow(2).mean().backward()
    opt.step()
    opt.zero_grad()
