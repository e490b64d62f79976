"""The expected output of `compare A B` for two golden models, from the pass of layers.py.

    /usr/bin/python3 tests/references/oracle/model_distance.py A B 11,1,0 [hide-first] > tests/cli/compare/…/expected.csv
"""

import itertools
import pathlib
import sys

import numpy

from family_reference import open_model
from layers import run


def values_of(folder, ids):
    return run(*open_model(pathlib.Path(folder)), ids).tensors


def jensen_shannon(p, q, hidden):
    """The square root of the Jensen-Shannon divergence in bits, averaged over rows. A sink counts as a key.
    The first `hidden` rows and keys are left out, and the other keys have a sum of 1."""
    p, q = (numpy.append(x, 1 - x.sum(-1, keepdims=True).clip(max=1), -1)[hidden:, hidden:] for x in (p, q))
    p, q = (x / x.sum(-1, keepdims=True) for x in (p, q))
    m = (p + q) / 2
    with numpy.errstate(divide="ignore", invalid="ignore"):
        terms = numpy.where(p > 0, p * numpy.log2(p / m), 0) + numpy.where(q > 0, q * numpy.log2(q / m), 0)
    return numpy.sqrt(numpy.maximum(terms.sum(-1) / 2, 0)).mean()


def relative(x, y):
    """The norm of the difference, divided by that of x, of the values that are finite in both."""
    finite = numpy.isfinite(x) & numpy.isfinite(y)
    size = numpy.linalg.norm(x[finite])
    return numpy.linalg.norm((x - y)[finite]) / size if size else 0.0


def main(first, second, ids, hidden):
    a, b = values_of(first, ids), values_of(second, ids)
    for name in a:
        if not name.endswith(".weights"):
            continue
        layer = name.split(".")[1]
        heads = range(len(a[name]))
        costs = [[jensen_shannon(a[name][i], b[name][j], hidden) for j in heads] for i in heads]
        best = min(itertools.permutations(heads), key=lambda to: sum(costs[i][to[i]] for i in heads))
        for i in heads:
            print(f"weights,{layer},{i},{costs[i][i]:.9g},{best[i]},{costs[i][best[i]]:.9g},")
    for name, x in a.items():
        parts = name.split(".")
        site = f"{parts[2]},{parts[1]}" if parts[0] == "h" else f"{name},"
        if name not in b or x.shape != b[name].shape:
            continue
        of_keys = hidden if parts[-1] in ("scores", "masked", "weights") else 0
        x, y = (one[..., hidden:, of_keys:] for one in (x, b[name]))
        with numpy.errstate(invalid="ignore"):
            tokens = [relative(x[..., t, :], y[..., t, :]) for t in range(x.shape[-2])]
            print(f"{site},,{relative(x, y):.9g},,,{numpy.median(tokens):.9g}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(i) for i in sys.argv[3].split(",")],
         int(sys.argv[4:] == ["hide-first"]))
