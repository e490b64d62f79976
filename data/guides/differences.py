"""Compare the npy files of `attn-cli run --format npy -o DIR/` with the files of another program.

python3 data/guides/differences.py ATTN PORT

Each line has the largest difference, divided by the largest element of ATTN, and its index. Masked
scores (-inf) are left out. Files that are missing in PORT are only named.
"""

import json
import os
import sys

import numpy

ours, yours = sys.argv[1:]
with open(f"{ours}/manifest.json", encoding="utf-8") as manifest:
    names = [entry["file"] for entry in json.load(manifest)["files"]]
for name in names:
    if not os.path.exists(f"{yours}/{name}"):
        print(f"{name:24} missing")
        continue
    a, b = numpy.load(f"{ours}/{name}"), numpy.load(f"{yours}/{name}")
    if a.shape != b.shape:
        sys.exit(f"{name}: expected shape {a.shape}, found {b.shape}")
    seen = numpy.isfinite(a)
    difference = abs(numpy.where(seen, a, 0) - numpy.where(seen, b, 0))
    worst = numpy.unravel_index(difference.argmax(), a.shape)
    print(f"{name:24} {difference.max() / abs(a[seen]).max():.1e} at {list(map(int, worst))}")
