"""Find the heads of an encoder that attend to the next or previous token, to the token itself or its
other copies, to [CLS], to [SEP] or broadly (Clark et al., 2019, What Does BERT Look At?).

    python3 data/guides/encoder_heads.py MODEL FILE      FILE: a text on each line

A head's number for a kind is the mean over all queries that are no special token and have such a
key: their weight on it, or for `broad` the entropy of their weights divided by that of equal ones.
"""
import collections
import csv
import math
import subprocess
import sys

KINDS = "next", "previous", "self", "same", "CLS", "SEP", "broad"


def rows_of(model, path):
    """Yield the head, the query, and the tokens and weights of all keys."""
    command = ["attn-cli", "run", "-q", "-m", model, "-f", path, "--show", "weights", "--layer",
               "all", "--format", "tidy"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        row, tokens, weights = None, [], []
        for cell in csv.DictReader(program.stdout):
            name = tuple(cell.get(key) for key in ("sentence", "layer", "head", "row"))
            if name != row and row:
                yield row, tokens, weights
                tokens, weights = [], []
            row = name
            tokens.append(cell["column_token"])
            weights.append(float(cell["value"]))
        yield row, tokens, weights


def kinds_of(query, tokens, weights):
    same = [i for i, token in enumerate(tokens) if token == tokens[query] and i != query]
    yield "next", weights[query + 1]
    yield "previous", weights[query - 1]
    yield "self", weights[query]
    if same:
        yield "same", sum(weights[i] for i in same)
    yield "CLS", weights[0]
    yield "SEP", sum(w for w, token in zip(weights, tokens) if token == tokens[-1])
    yield "broad", -sum(w * math.log(w) for w in weights if w) / math.log(len(weights))


found = collections.defaultdict(list)
for (_, layer, head, row), tokens, weights in rows_of(*sys.argv[1:]):
    if tokens[int(row)] not in (tokens[0], tokens[-1]):
        for kind, value in kinds_of(int(row), tokens, weights):
            found[kind, f"{layer}.{head}"].append(value)
means = {name: sum(values) / len(values) for name, values in found.items()}
print("kind      heads with 0.5 or more  strongest")
for kind in KINDS:
    heads = sorted((-mean, head) for (other, head), mean in means.items() if other == kind)
    strongest = ", ".join(f"{head} ({-mean:.2f})" for mean, head in heads[:3])
    print(f"{kind:8}  {sum(mean <= -0.5 for mean, _ in heads):22}  {strongest}")
