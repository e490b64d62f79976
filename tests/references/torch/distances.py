"""The expected output of `attn-cli compare --format csv` for models of the type `attention`.

    /usr/bin/python3 tests/references/torch/distances.py tests/references/golden/gqa "w1 w2 w3" window:2 linear
"""

import sys

import torch

from bare_attention import Model, run


def distance(dense, other, heads):
    """The four columns, over all (layer, head) of `heads` together."""
    numbers = [
        (
            (dense[f"h.{layer}.context"][head] - other[f"h.{layer}.context"][head]).abs(),
            dense[f"h.{layer}.weights"][head],
            other[f"h.{layer}.weights"][head],
        )
        for layer, head in heads
    ]
    contexts, a, b = (torch.stack(part) for part in zip(*numbers))
    queries = a.shape[0] * a.shape[1]
    kept = a[b > 0].sum() / queries
    overlap = torch.minimum(a, b).sum() / queries
    return [contexts.max(), contexts.mean(), kept, overlap]


def main(folder, sentence, *ways):
    model = Model(folder)
    dense = run(model, sentence)
    all_heads = [
        (layer, head)
        for layer in range(model.config["n_layer"])
        for head in range(model.config["n_head"])
    ]
    print("attention,layer,head,max_difference,mean_difference,kept,overlap")
    for way in ways:
        other = run(model, sentence, way)
        places = [("", "", all_heads)] + [(*place, [place]) for place in all_heads]
        for layer, head, heads in places:
            numbers = ",".join(f"{float(x):.9g}" for x in distance(dense, other, heads))
            print(f"{way},{layer},{head},{numbers}")


main(*sys.argv[1:])
