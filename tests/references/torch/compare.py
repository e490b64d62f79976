"""Compare models made by `attn-cli init` with the same models made by PyTorch, bit by bit.

    python3 tests/references/torch/compare.py PROGRAM

Prints a line for each tensor that differs. Needs PyTorch for x86-64 on a machine
with AVX2.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

import torch

import reference

# shape, --set, seed, other options, the model of PyTorch; sizes below, at and above 16
MODELS = (
    ("--like life", "n_embd=5,d_k=3,d_v=2,vocab_size=9,n_head=4", 0, "", reference.rand),
    ("--like life", "n_embd=4,d_k=4,d_v=4,vocab_size=31,n_layer=3", 1, "--table 32",
     lambda config, seed: reference.rand(config, seed, 32)),
    ("--like life", "n_embd=6,n_head=6,n_kv_head=3,d_k=1,d_v=1,out_proj=true,n_layer=2", 2, "",
     reference.rand),
    ("--like journey", "n_embd=64,n_head=4,projections=true,out_proj=true,bias=true", 4294967299,
     "--draw linear --table 6", lambda config, seed: reference.linear(config, seed, 6)),
    ("--like journey", "n_embd=16,n_head=4,d_k=8,d_v=8,projections=true,out_proj=true,d_out=32,bias=out",
     123, "--draw linear", reference.linear),
    ("--like journey", "n_embd=7,projections=true", 42, "--draw linear", reference.linear),
    ("--shape tiny", "n_layer=3", 7, "", reference.gpt2),
    ("--shape tiny", "n_embd=10,n_head=2,n_inner=3,vocab_size=1,n_positions=1", 8, "", reference.gpt2),
    ("--shape gpt2", "n_embd=48,n_layer=2,vocab_size=301,tie_word_embeddings=false", 9, "",
     reference.gpt2),
    ("--shape tiny-llama", "n_layer=3", 11, "", reference.llama),
    ("--shape tiny-llama", "n_embd=10,head_dim=6,vocab_size=7,tie_word_embeddings=false", 12, "",
     reference.llama),
    ("--shape tiny-llama", "attention_bias=true,mlp_bias=true,intermediate_size=5", 13, "",
     reference.llama),
    ("--shape tiny", "n_embd=1,n_head=1,vocab_size=3,initializer_range=0.5", 10, "", reference.gpt2),
)


def read(path):
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        tensors[name] = tensor.reshape(entry["shape"])
    return tensors


def bits(tensor):
    return tensor.contiguous().view(torch.int32)


def compare(label, found, expected):
    """Print a line for each tensor that differs. Tensors that PyTorch does not have must be 0."""
    for name in sorted(set(found) | set(expected)):
        if name not in found:
            print("%s: %s is missing" % (label, name))
        elif name not in expected:
            if found[name].any():
                print("%s: %s: expected zeros" % (label, name))
        elif found[name].shape != expected[name].shape:
            print("%s: %s: another shape" % (label, name))
        elif not torch.equal(bits(found[name]), bits(expected[name])):
            off = (found[name] - expected[name]).abs().max().item()
            print("%s: %s is off by %g" % (label, name, off))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for number, (sizes, settings, seed, options, make) in enumerate(MODELS):
            path = os.path.join(folder, str(number))
            command = [sys.argv[1], "init", "-q", *sizes.split(), "--set", settings, "--seed", str(seed),
                       *options.split(), "-o", path]
            subprocess.run(command, check=True)
            with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
                config = json.load(file)
            compare(" ".join(command[3:-2]), read(os.path.join(path, "model.safetensors")),
                    make(config, seed))


if __name__ == "__main__":
    main()
