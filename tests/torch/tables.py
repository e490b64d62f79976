"""What PyTorch draws on a CPU, as tables in C: writes tests/unit/torch_tables.h anew.

    python3 tests/torch/tables.py >tests/unit/torch_tables.h

Needs PyTorch for x86-64 on a machine with AVX2 (Debian's python3-torch will do): elsewhere its
normal numbers differ in the last bit.
"""

import sys

import torch

SEEDS = (0, 123, 2147483653)
SIZES = (1, 5, 15, 16, 18, 33, 48)

HEAD = """/* torch_tables.h: what PyTorch {version} draws on a CPU. Made by tests/torch/tables.py. */
#ifndef ATTN_TESTS_TORCH_TABLES_H
#define ATTN_TESTS_TORCH_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct torch_row {{
    uint64_t seed;
    size_t count;
    float numbers[48];
}};

/* clang-format off */"""


def numbers(tensor, indent):
    """The tensor's numbers in lines that fit."""
    lines, line = [], ""
    for value in tensor.detach().flatten().tolist():
        text = "%.9g" % value
        text += "f," if "." in text or "e" in text else ".0f,"
        if len(indent + line + text) > 99:
            lines.append(indent + line.rstrip())
            line = ""
        line += text + " "
    return "\n".join(lines + [indent + line.rstrip()])


def table(name, draw):
    print("static const struct torch_row %s[] = {" % name)
    for seed in SEEDS:
        for size in SIZES:
            torch.manual_seed(seed)
            print("    {%d, %d, {\n%s}}," % (seed, size, numbers(draw(size), "        ")))
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
    """Tensors one after the other: what one leaves over, the next begins with."""
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


def main():
    print(HEAD.format(version=torch.__version__))
    table("torch_uniform", torch.rand)
    table("torch_normal", torch.randn)
    array("torch_sequence", sequence(), "Seed 7: see sequence() in tables.py.")
    torch.manual_seed(42)
    linear = torch.nn.Linear(7, 3)
    array("torch_linear", linear.weight, "Seed 42: nn.Linear(7, 3), its weight [3, 7] …")
    array("torch_linear_bias", linear.bias, "… and its bias.")
    torch.manual_seed(123)
    array("torch_embedding", torch.nn.Embedding(50000, 3).weight[:6],
          "Seed 123: the first 6 rows of nn.Embedding(50000, 3).")
    torch.manual_seed(123)
    array("torch_small_embedding", torch.nn.Embedding(6, 3).weight,
          "Seed 123: nn.Embedding(6, 3), which is another table.")
    print("/* Seed 5: FNV-1a of the bits of torch.randn(100003), and of torch.rand behind it. */")
    torch.manual_seed(5)
    for name, draw in (("normal", torch.randn), ("uniform", torch.rand)):
        print("static const uint32_t torch_long_%s = %du;" % (name, digest(draw(100003))))
    print("/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
