"""Compute the hash of a checkpoint's weights that `info --hash` must print.

    python3 tests/references/oracle/weights_hash.py models/life wte.weight h.0.attn.q_proj.weight …

The names are those of the tensors, in the order in which `info` lists them.
"""

import hashlib
import json
import pathlib
import struct
import sys

import numpy

TYPES = {"F32": numpy.float32, "F16": numpy.float16, "F64": numpy.float64}


def main(folder, names):
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    digest = hashlib.sha256()
    for name in names:
        entry = header.get(name) or header["transformer." + name]
        begin, end = entry["data_offsets"]
        numbers = numpy.frombuffer(data[start + begin:start + end], TYPES[entry["dtype"]])
        digest.update(name.encode() + b"\0" + struct.pack(f"<{len(entry['shape'])}Q", *entry["shape"]))
        digest.update(numbers.astype(numpy.float32).tobytes())
    print(digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
