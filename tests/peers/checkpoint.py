"""Model files for numpy: every tensor by name, where it lies in the mapped file."""
import json
import struct
from types import SimpleNamespace

import numpy


def read_config(folder):
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        return SimpleNamespace(**json.load(file))


def map_tensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    data = numpy.memmap(path, numpy.float32, "c", 8 + size)
    tensors = {}
    for name, entry in header.items():
        begin, end = (offset // 4 for offset in entry["data_offsets"])
        tensors[name] = data[begin:end].reshape(entry["shape"])
    return tensors
