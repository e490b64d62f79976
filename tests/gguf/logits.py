"""What attn-cli and llama.cpp make of the same GGUF files and ids: how far their logits differ.

    (mkdir -p build/peers && cp tests/peers/package*.json build/peers && cd build/peers &&
        npm ci --ignore-scripts)
    PEERS=$PWD/build/peers /usr/bin/python3 tests/gguf/logits.py build/attn-cli FILE.gguf...
    ... FILE.gguf=OTHER.gguf                 llama.cpp reads the other one

llama.cpp keeps keys and values in F16, and looks activations up by F16: expect a thousandth; of
quantised matrices a few hundredths, as it rounds activations to eight bits.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy

IDS = [3, 1, 4, 1, 5, 9, 2]


def of_llama(path, folder):
    script = os.path.join(os.path.dirname(__file__), "..", "peers", "llama.mjs")
    request = json.dumps({"ids": IDS, "write": f"{folder}/logits"})
    subprocess.run(["node", script, path], input=request + "\n", text=True, check=True,
                   stdout=subprocess.DEVNULL)
    return numpy.fromfile(f"{folder}/logits", "<f4").reshape(len(IDS), -1)


def of_ours(program, path, folder):
    ids = ",".join(map(str, IDS))
    subprocess.run([program, "run", "-m", path, "--ids", ids, "--show", "logits",
                    "-o", f"{folder}/logits.npy", "--force"], check=True)
    return numpy.load(f"{folder}/logits.npy")


def main():
    program, *paths = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            path, _, other = path.partition("=")
            ours, theirs = of_ours(program, path, folder), of_llama(other or path, folder)
            print(f"{path}: at most {numpy.abs(ours - theirs).max():.2g} of logits up to "
                  f"{numpy.abs(ours).max():.3g}")


main()
