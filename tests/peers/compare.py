"""attn-cli beside its peers: same shapes, same weights, one thread each.

    python3 compare.py ATTN FOLDER      FOLDER as run.sh has made it
    ONLY=mean,head python3 compare.py ATTN FOLDER      those rows alone, by their methods' names

In each round all are measured in turn, so that a slow minute of the machine slows all of them. What
is printed are medians over the rounds: of attn-cli the time, of the others how many times that of
attn-cli in the same round they took.
"""
import functools
import os
import statistics
import sys

import numpy

from peers import Numpy, OnnxRuntime, Ours, PyTorch, process, texts_of
from rounds import ROUNDS, print_line, print_row, share, take_rounds

ONLY = os.environ.get("ONLY", "").split(",") if os.environ.get("ONLY") else None
TINY_ROUNDS = 20 * ROUNDS
MIXED = 250  # texts of different lengths

ROWS = [
    ("prefill, 64 tokens", "prefill", 64),
    ("prefill, 256 tokens", "prefill", 256),
    ("prefill, 1024 tokens", "prefill", 1024),
    ("all attention, 64 tokens", "capture", 64),
    ("all attention, 256 tokens", "capture", 256),
    ("all attention, 1024 tokens", "capture", 1024),
    ("decode, 64 in the cache", "decode", 64),
    ("the same, the likeliest only", "greedy", 64),
    ("100 texts of 12 tokens", "batch", 100),
    (f"mean attention, {MIXED} texts", "mean", MIXED),
    ("process: one head, 1 text", "head", 1),
    ("process: one head, 100 texts", "head", 100),
]


def print_differences(peers):
    text = texts_of(1, 64)[0]
    ours, *others = [peer.outputs(text) for peer in peers]
    for i, name in enumerate(["logits", "attention"]):
        largest = numpy.abs(ours[i]).max()
        columns = [f"{numpy.abs(ours[i] - other[i]).max():.1e}" for other in others]
        print_line(f"difference in {name}", [f"of {largest:.3g}", *columns])


def print_tokens(ours, other):
    """The likeliest tokens behind some texts: where two logits are as good as equal they part."""
    texts, count = texts_of(4, 16), 32
    same = sum(ours.continuation(text, count) == other.continuation(text, count) for text in texts)
    print_line(f"{count} tokens as {other.name}", [f"{same} of {len(texts)}"])


def print_tiny(program):
    """The default model, all of a process, beside the least that a process can be."""
    sentence = "Life is short, eat dessert first"
    rounds = [(process(program, "run", "--sentence", sentence), process("/bin/true"))
              for _ in range(TINY_ROUNDS)]
    ours, least = map(statistics.median, zip(*rounds))
    ratio = statistics.median(a / b for a, b in rounds)
    print_line("process: default model", [f"{1e3 * ours:.2f} ms"])
    print_line("  as long as /bin/true", [f"{ratio:.2f} ×", f"({1e3 * least:.2f} ms)"])


def print_ideal(ours):
    """The mean attention of texts of 4 to 40 tokens beside a prefill without any waste."""
    measures = [lambda: ours.mean(MIXED), lambda: ours.ideal_mean(MIXED)]
    rounds = take_rounds("ideal prefill", measures, share(1))
    ratio = statistics.median(mean / ideal for mean, ideal in rounds)
    print_line("mean attention", [f"{MIXED} texts"])
    print_line("  as long as ideal prefill", [f"{ratio:.2f} ×"])


def serves(peer, rows):
    return any(hasattr(peer, method) for _, method, _ in rows)


def main():
    program, folder = map(os.path.abspath, sys.argv[1:])
    rows = [row for row in ROWS if not ONLY or row[1] in ONLY]
    others = [peer for peer in (PyTorch, OnnxRuntime, Numpy) if serves(peer, rows)]
    peers = [Ours(folder, program), *(peer(folder) for peer in others)]
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in peers[1:])
    print(f"GPT-2 124M, random weights, float32, one thread; medians over {ROUNDS} rounds\n"
          f"or as many as there is time for.\n"
          f"{versions}:\nhow many times as long as attn-cli they take. A text has 6 tokens alone, "
          "12 as one\nof 100; a head's attention goes to a CSV file a text. Differences are the "
          "largest.\n")
    print_line("", [peer.name for peer in peers])
    for i, (name, method, argument) in enumerate(rows):
        measures = [getattr(peer, method, None) for peer in peers]
        print_row(name, [m and functools.partial(m, argument) for m in measures],
                  len(rows) - i + 1)
    print()
    if any(method == "mean" for _, method, _ in rows):
        print_ideal(peers[0])
    if any(method == "greedy" for _, method, _ in rows):
        print_tokens(peers[0], peers[1])
    if not ONLY:
        print_differences([peer for peer in peers if hasattr(peer, "outputs")])
        print_tiny(program)


main()
