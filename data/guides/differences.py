"""Print the largest difference of each tensor of two folders that `attn-cli run --format npy -o DIR/` wrote, or yours.

python3 data/guides/differences.py OURS YOURS

The difference is divided by the largest element of the first. Masked scores (-inf) are left out.
"""

import json
import sys

import numpy

ours, yours = sys.argv[1:]
with open(f"{ours}/manifest.json", encoding="utf-8") as manifest:
    names = [entry["file"] for entry in json.load(manifest)["files"]]
for name in names:
    a, b = numpy.load(f"{ours}/{name}"), numpy.load(f"{yours}/{name}")
    if a.shape != b.shape:
        sys.exit(f"{name}: expected shape {a.shape}, found {b.shape}")
    seen = numpy.isfinite(a)
    print(f"{name:24} {abs(a - b)[seen].max() / abs(a[seen]).max():.1e}")
