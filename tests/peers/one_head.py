"""A whole process of a peer: the attention of one head to CSV files, a file for each text.

    python3 one_head.py torch|numpy MODEL TEXTS LAYER HEAD FOLDER

TEXTS is a JSON array of texts, each an array of ids, all of one length: they are one batch. PyTorch
runs the model without its logits; numpy works on the mapped file and stops at that layer's weights.
"""
import json
import sys

import numpy


def torch_heads(folder, texts, layer, head):
    import torch

    from gpt2 import GPT2

    _, attention, _ = GPT2(folder)(torch.tensor(texts))
    return attention[layer][:, head].numpy()


def numpy_heads(folder, texts, layer, head):
    from checkpoint import map_tensors, read_config

    tensors = map_tensors(f"{folder}/model.safetensors")
    config = read_config(folder)
    ids = numpy.array(texts)

    def linear(x, name):
        return x @ tensors[name + ".weight"] + tensors[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= numpy.sqrt((x * x).mean(-1, keepdims=True) + numpy.float32(1e-5))
        return x * tensors[name + ".weight"] + tensors[name + ".bias"]

    def heads(x):
        return x.reshape(*ids.shape, config.n_head, -1).swapaxes(1, 2)

    def weigh(q, k):
        future = numpy.triu(numpy.full(2 * ids.shape[1:], -numpy.inf, numpy.float32), 1)
        scores = q @ k.swapaxes(2, 3) / numpy.float32(q.shape[3] ** 0.5) + future
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        return scores / scores.sum(-1, keepdims=True)

    def gelu(x):
        inner = numpy.float32(0.7978845608) * (x + numpy.float32(0.044715) * x**3)
        return numpy.float32(0.5) * x * (1 + numpy.tanh(inner))

    x = tensors["wte.weight"][ids] + tensors["wpe.weight"][: ids.shape[1]]
    for index in range(layer + 1):
        block = f"h.{index}."
        joined = linear(norm(x, block + "ln_1"), block + "attn.c_attn")
        q, k, v = map(heads, numpy.split(joined, 3, -1))
        weights = weigh(q, k)
        if index == layer:
            return weights[:, head]
        x = x + linear((weights @ v).swapaxes(1, 2).reshape(x.shape), block + "attn.c_proj")
        hidden = gelu(linear(norm(x, block + "ln_2"), block + "mlp.c_fc"))
        x = x + linear(hidden, block + "mlp.c_proj")


def main():
    peer, model, path, layer, head, folder = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        texts = json.load(file)
    compute = {"torch": torch_heads, "numpy": numpy_heads}[peer]
    for i, square in enumerate(compute(model, texts, int(layer), int(head))):
        numpy.savetxt(f"{folder}/{i}.csv", square, "%.9g", ",")


main()
