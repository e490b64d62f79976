"""Write tests/unit/rigs/torch_numbers.h and torch_models.h: random numbers of PyTorch as tables in C.

    python3 tests/references/torch/tables.py

Needs PyTorch for x86-64 on a machine with AVX2 (such as Debian's python3-torch): elsewhere its
normal numbers differ in the last bit.
"""

import json
import os
import sys
import textwrap

import torch

import reference

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "unit", "rigs")
SEEDS = (0, 123, 2147483653)
SIZES = (1, 5, 15, 16, 18, 33, 48)

UNTIED = {"model_type": "gpt2", "vocab_size": 13, "n_positions": 5, "n_embd": 6, "n_layer": 2,
          "n_head": 2, "n_inner": 10, "initializer_range": 0.03, "tie_word_embeddings": False}
NARROW = {"model_type": "gpt2", "vocab_size": 6, "n_positions": 3, "n_embd": 2, "n_layer": 3,
          "n_head": 1, "n_inner": 3}
LLAMA = {"model_type": "llama", "vocab_size": 13, "hidden_size": 6, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 10,
         "initializer_range": 0.03}
BIASED = {"model_type": "llama", "vocab_size": 5, "hidden_size": 4, "num_hidden_layers": 2,
          "num_attention_heads": 2, "intermediate_size": 3, "tie_word_embeddings": True,
          "attention_bias": True, "mlp_bias": True}
HEADS = {"model_type": "attention", "vocab_size": 11, "n_embd": 12, "n_layer": 2, "n_head": 6,
         "n_kv_head": 2, "d_k": 3, "d_v": 2, "out_proj": True, "bias": True}

# name, config, tensors, comment
MODELS = (
    ("untied", UNTIED, reference.gpt2(UNTIED, 11), "GPT-2, seed 11"),
    ("narrow", NARROW, reference.gpt2(NARROW, 12), "GPT-2, seed 12: matrices of fewer than 16 numbers"),
    ("llama", LLAMA, reference.llama(LLAMA, 16), "Llama, seed 16"),
    ("biased", BIASED, reference.llama(BIASED, 17), "Llama, seed 17, with biases"),
    ("rand", HEADS, reference.rand(HEADS, 13), "torch.rand, seed 13"),
    ("linear", HEADS, reference.linear(HEADS, 14, table=11), "nn.Linear, seed 14, a table of 11 rows"),
)

HEAD = """/* {file}: random numbers of PyTorch {version} on a CPU. Made by tests/references/torch/tables.py. */
#pragma once

#include <stddef.h>
#include <stdint.h>

{struct}
/* clang-format off */"""

TAIL = "/* clang-format on */"

ROW = """struct torch_row {
    uint64_t seed;
    size_t count;
    uint32_t digest; /* of the numbers' bits, FNV-1a: rigs/digest.h */
};
"""

DIGEST = """/* The FNV-1a hash of a tensor's bits; tensors of only 0 or only 1 are left out. */
struct torch_digest {
    const char *name;
    uint32_t digest;
};
"""


def numbers(tensor, indent):
    """The numbers of a tensor, wrapped."""
    text = " ".join("%#.9gf," % value for value in tensor.detach().flatten().tolist())
    return textwrap.fill(text, 99, initial_indent=indent, subsequent_indent=indent)


def table(name, draw):
    print("static const struct torch_row %s[] = {" % name)
    for seed in SEEDS:
        for size in SIZES:
            torch.manual_seed(seed)
            print("    {%d, %d, %du}," % (seed, size, digest(draw(size))))
    print("};\n")


def array(name, tensor, about):
    print("/* %s */" % about)
    print("static const float %s[] = {\n%s\n};\n" % (name, numbers(tensor, "    ")))


def digest(tensor):
    """FNV-1a over the bits of each number, one 32-bit word at a time."""
    value = 2166136261
    for word in tensor.contiguous().view(torch.int32).flatten().tolist():
        value = ((value ^ (word & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return value


def sequence():
    """Several tensors from one generator; each call may leave numbers that the next call uses."""
    torch.manual_seed(7)
    return torch.cat([
        torch.randn(3),
        torch.randn(20),
        torch.randn(2),
        torch.rand(5),
        torch.empty(17).normal_(0.25, 0.02),
        torch.empty(5).normal_(0.25, 0.02),
        torch.empty(9).uniform_(-0.5, 0.25),
        torch.randn(1),
    ])


def write_numbers():
    table("torch_uniform", torch.rand)
    table("torch_normal", torch.randn)
    print("/* Seed 7: the digest of sequence() in tables.py. */")
    print("static const uint32_t torch_sequence = %du;\n" % digest(sequence()))
    print("/* Seed 5: the digests of torch.randn(100003), and of torch.rand after it. */")
    torch.manual_seed(5)
    for name, draw in (("normal", torch.randn), ("uniform", torch.rand)):
        print("static const uint32_t torch_long_%s = %du;" % (name, digest(draw(100003))))


def write_models():
    torch.manual_seed(42)
    linear = torch.nn.Linear(7, 3)
    array("torch_linear_weight", linear.weight, "Seed 42: the weight of nn.Linear(7, 3), [3, 7].")
    array("torch_linear_bias", linear.bias, "Seed 42: the bias of nn.Linear(7, 3).")
    torch.manual_seed(123)
    array("torch_embedding", torch.nn.Embedding(50000, 3).weight[:6],
          "Seed 123: the first 6 rows of nn.Embedding(50000, 3).")
    torch.manual_seed(123)
    array("torch_small_embedding", torch.nn.Embedding(6, 3).weight,
          "Seed 123: nn.Embedding(6, 3), whose rows differ from those above.")
    for name, config, tensors, about in MODELS:
        text = json.dumps(config)
        print("/* %s. */\nstatic const char torch_%s_config[] =" % (about, name))
        lines = textwrap.wrap(text, 60)
        print("\n".join("    \"%s\"" % (line + " ").replace('"', '\\"') for line in lines) + ";\n")
        print("static const struct torch_digest torch_%s[] = {" % name)
        for key, tensor in tensors.items():
            if not ((tensor == 0).all() or (tensor == 1).all()):
                print('    {"%s", %du},' % (key, digest(tensor)))
        print("};\n")


def main():
    for file, struct, write in (("torch_numbers.h", ROW, write_numbers),
                                ("torch_models.h", DIGEST, write_models)):
        with open(os.path.join(UNIT, file), "w", encoding="utf-8") as sys.stdout:
            print(HEAD.format(file=file, struct=struct, version=torch.__version__))
            write()
            print(TAIL)


if __name__ == "__main__":
    main()
