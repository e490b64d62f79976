"""A model's folder with its matrices in bfloat16, and that as FOLDER.gguf.

    python bf16.py MODEL FOLDER ATTN
"""
import shutil
import subprocess
import sys

import torch
from safetensors.torch import load_file, save_file

model, folder, attn = sys.argv[1:]
shutil.copytree(model, folder, dirs_exist_ok=True)
tensors = load_file(f"{model}/model.safetensors")
save_file({name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()},
          f"{folder}/model.safetensors", {"format": "pt"})
subprocess.check_call([attn, "convert", "-q", "-m", folder, "-o", f"{folder}.gguf"])
