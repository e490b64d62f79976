#!/usr/bin/env python3
"""Double the positions of a GPT-2 in float32: the new ones begin as copies of the old ones.

    python3 models/longer.py FROM TO
"""
import json
import pathlib
import re
import shutil
import sys


def main():
    old, new = map(pathlib.Path, sys.argv[1:])
    new.mkdir(parents=True, exist_ok=True)
    for name in "vocab.json", "merges.txt":
        shutil.copy(old / name, new)

    data = (old / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    wpe = header["wpe.weight"]
    (rows, channels), (first, end) = wpe["shape"], wpe["data_offsets"]
    for tensor in header.values():
        if tensor.get("data_offsets", [0])[0] >= end:
            tensor["data_offsets"] = [at + end - first for at in tensor["data_offsets"]]
    wpe.update(shape=[2 * rows, channels], data_offsets=[first, 2 * end - first])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    table = data[start + first:start + end]
    (new / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text +
                                            data[start:start + end] + table + data[start + end:])
    config = (old / "config.json").read_text()
    longer = f'"n_positions": {2 * rows}'
    (new / "config.json").write_text(re.sub('"n_positions": [0-9]+', longer, config))


if __name__ == "__main__":
    main()
