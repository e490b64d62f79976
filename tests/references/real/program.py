"""Calls of attn-cli."""
import csv
import io
import json
import os
import subprocess
import tempfile

from safetensors.torch import load_file

PROGRAM = os.environ.get("ATTN", "build/attn-cli")


def attn(*arguments, check=True, **more):
    found = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, check=check,
                           **more)
    return found.stdout.decode()


def ids_of(texts, model, *options):
    """The ids of each text."""
    given = [part for text in texts for part in ("-s", text)]
    printed = attn("tokenize", "-m", model, "--only-ids", *(options or ("--special", "none")),
                   *given)
    return [list(map(int, line.split())) for line in printed.split("\n")[:len(texts)]]


def listed(ids):
    return ",".join(map(str, ids))


def tensors_of(model, ids, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/found.safetensors"
        attn("run", "-q", "-m", model, "--ids", listed(ids), "-o", path, *options)
        return load_file(path)


def rows_of(*arguments):
    return list(csv.DictReader(io.StringIO(attn(*arguments))))


def json_of(*arguments):
    return json.loads(attn(*arguments, "--format", "json"))
