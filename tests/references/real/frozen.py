"""Compare results of SmolLM2 with frozen.json: ids, greedy tokens, bits of the attention, scores of
heads. Needs only the model's file and attn-cli.

    python frozen.py FOLDER            FOLDER/SmolLM2-135M-Instruct.Q4_1.gguf
    python frozen.py FOLDER small      fewer texts
    python frozen.py FOLDER --freeze   write frozen.json again

The last line is `N passed, N failed`.
"""
import hashlib
import json
import os
import struct
import sys

from models import GGUF
from program import ids_of, json_of
from sentences import GREEDY, TEXTS, sentences
from tally import Tally

FROZEN = f"{os.path.dirname(os.path.abspath(__file__))}/frozen.json"
SCORES = "previous-token", "duplicate-token", "induction", "first-token"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def attention(model, text):
    """A hash of the bits of all weights: the same on every processor."""
    tensors = json_of("run", "-q", "-m", model, text, "--show", "weights")["tensors"]
    numbers = [x for layer in tensors.values() for head in layer for row in head for x in row]
    return sha256(struct.pack(f"<{len(numbers)}f", *numbers))


def greedy(model, text):
    tokens = json_of("generate", "-m", model, text, "-n", 50, "--ignore-eos", "--show", "tokens")
    return [token["id"] for token in tokens["tokens"]][-50:]


def found_with(model, prompts, texts):
    ids = ids_of(sentences(), model)
    heads = json_of("heads", "-m", model, "--score", ",".join(SCORES))["tables"]["heads"]
    scores = json_of("score", "-m", model, TEXTS[0])["tables"]["scores"]
    return {
        "model": sha256(open(model, "rb").read()),
        "ids": ids[:20], "ids of 1000": sha256(json.dumps(ids).encode()),
        "greedy": {text: greedy(model, text) for text in prompts},
        "attention": {text: attention(model, text) for text in texts},
        "heads": {name: [[row[name] for row in heads if row["layer"] == layer]
                         for layer in range(heads[-1]["layer"] + 1)] for name in SCORES},
        "surprisal": [score["surprisal_nats"] for score in scores],
    }


def main():
    model = f"{sys.argv[1]}/{GGUF['smollm2']}"
    small = "small" in sys.argv
    found = found_with(model, GREEDY[:1] if small else GREEDY, TEXTS[:2] if small else TEXTS)
    if "--freeze" in sys.argv:
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
                           for key, value in found.items())
        with open(FROZEN, "w", encoding="utf-8") as file:
            file.write(f"{{\n{lines}\n}}\n")
    with open(FROZEN, encoding="utf-8") as file:
        expected = json.load(file)
    tally = Tally()
    for key in expected:
        wanted = expected[key]
        if key in ("greedy", "attention"):
            wanted = {text: wanted[text] for text in found[key]}
        tally.check(found[key] == wanted, f"frozen: {key}")
    tally.close()


main()
