"""Quantise numbers with ggml, whose library is part of node-llama-cpp of npm (see run.sh).

    PEERS=$PWD/build/peers /usr/bin/python3 tests/references/gguf/quants.py tests/references/gguf/quants.gguf
    PEERS=$PWD/build/peers /usr/bin/python3 tests/references/gguf/quants.py FILE.gguf TYPE [WIDENED.gguf]

The first command writes blocks of each type and their numbers in F32, dequantised by ggml. The
second writes a Llama of random weights, as wide as a block of the type, with matrices quantised by
ggml, and optionally the same model dequantised to F32. llama.cpp's logits of the F32 file are more
exact, because with quantised matrices it also rounds the vectors.
"""
import ctypes
import os
import re
import struct
import sys

import numpy

from write import ALIGNMENT, F32, STRING, U32, string, value

TYPES = {  # ggml's number, numbers in a block, bytes of a block, offsets of its F16 scales
    "Q4_0": (2, 32, 18, [0]), "Q4_1": (3, 32, 20, [0, 2]), "Q5_0": (6, 32, 22, [0]),
    "Q5_1": (7, 32, 24, [0, 2]), "Q8_0": (8, 32, 34, [0]), "Q4_K": (12, 256, 144, [0, 2]),
    "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]), "Q2_K": (10, 256, 84, [80, 82]),
    "Q3_K": (11, 256, 110, [108]), "IQ4_NL": (20, 32, 18, [0]), "IQ4_XS": (23, 256, 136, [0]),
    "MXFP4": (39, 32, 17, []),  # a byte is the exponent of a power of 2
}


def library():
    return ctypes.CDLL(os.path.join(os.environ["PEERS"], "node_modules/@node-llama-cpp/linux-x64",
                                    "bins/linux-x64/libggml-base.so"))


def quantise(ggml, name, array):
    number, block, size, _ = TYPES[name]
    array = numpy.ascontiguousarray(array, "<f4")
    out = ctypes.create_string_buffer(array.size // block * size)
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    ggml.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                         *[ctypes.c_int64] * 3, ctypes.c_void_p]
    made = ggml.ggml_quantize_chunk(number, array.ctypes.data, out, 0,
                                    array.size // array.shape[-1], array.shape[-1], None)
    assert made == len(out)
    return out.raw


def dequantise(ggml, name, blocks, count):
    numbers = numpy.empty(count, "<f4")
    function = ggml["dequantize_row_" + re.sub("Q|I.*|M.*", lambda part: part[0].lower(), name)]
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    function(blocks, numbers.ctypes.data, count)
    return numbers


def any_bits(name, count, random):
    """Blocks of random bits, with finite scales."""
    _, block, size, scales = TYPES[name]
    blocks = random.integers(0, 256, (count // block, size), numpy.uint8)
    for at in scales:
        halves = random.normal(0, 1, count // block).astype("<f2")
        blocks[:, at:at + 2] = halves.view(numpy.uint8).reshape(-1, 2)
    if not scales:
        blocks[:, 0] //= 2  # at most 1
    return blocks.tobytes()


def blocks_of_each(ggml):
    random = numpy.random.default_rng(4)
    for name, (number, *_) in TYPES.items():
        data = quantise(ggml, name, random.normal(0, 1, (1, 256))) + any_bits(name, 256, random)
        yield name, number, [512], data
        yield name + ".F32", 0, [512], dequantise(ggml, name, data, 512).tobytes()


def model_values(width):
    sizes = {"context_length": 64, "embedding_length": width, "block_count": 2,
             "attention.head_count": 4, "attention.head_count_kv": 2,
             "feed_forward_length": 2 * width, "rope.dimension_count": width // 4,
             "vocab_size": 96}
    yield value("general.architecture", STRING, "llama")
    for key, size in sizes.items():
        yield value(f"llama.{key}", U32, size)
    yield value("llama.attention.layer_norm_rms_epsilon", F32, 1e-5)
    yield value("tokenizer.ggml.model", STRING, "no_vocab")


def model_of(ggml, name, width):
    random = numpy.random.default_rng(7)
    half, twice = width // 2, 2 * width
    shapes = {"token_embd": [96, width], "output_norm": [width], "output": [96, width]}
    for layer in range(2):
        shapes |= {f"blk.{layer}.{part}": shape for part, shape in {
            "attn_norm": [width], "attn_q": [width, width], "attn_k": [half, width],
            "attn_v": [half, width], "attn_output": [width, width], "ffn_norm": [width],
            "ffn_gate": [twice, width], "ffn_up": [twice, width],
            "ffn_down": [width, twice]}.items()}
    for part, shape in shapes.items():
        array = random.normal(0, width ** -0.5, shape).astype("<f4") + numpy.float32(len(shape) == 1)
        number = TYPES[name][0] if len(shape) == 2 else 0
        data = quantise(ggml, name, array) if len(shape) == 2 else array.tobytes()
        yield f"{part}.weight", number, shape, data


def widened(ggml, name, tensors):
    for part, number, shape, data in tensors:
        if number:
            data = dequantise(ggml, name, data, int(numpy.prod(shape))).tobytes()
        yield part, 0, shape, data


def write(path, values, tensors):
    infos, data = [], b""
    for name, number, shape, numbers in tensors:
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        infos.append(string(name) + sizes + struct.pack("<IQ", number, len(data)))
        data += numbers + bytes(-len(numbers) % ALIGNMENT)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(values)) + b"".join(values + infos)
    with open(path, "wb") as file:
        file.write(header + bytes(-len(header) % ALIGNMENT) + data)


def main():
    path, *names = sys.argv[1:]
    ggml = library()
    if names:
        width = TYPES[names[0]][1]
        write(path, list(model_values(width)), model_of(ggml, names[0], width))
        for other in names[1:]:
            write(other, list(model_values(width)),
                  widened(ggml, names[0], model_of(ggml, names[0], width)))
    else:
        write(path, [], blocks_of_each(ggml))


main()
