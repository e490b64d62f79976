#!/usr/bin/env python3
"""A model made by hand, whose parts are known: usage: make.py (writes beside itself).

A GPT-2 with MLPs of zeros, of 8 words and 8 places, whose stream has four rooms of 8 channels: the
word, the word before, the answer, the place. Head 0.1 looks at the place before and writes its word
into the second room; head 1.2 looks where the word before is its own word, and writes the word that
stands there into the third, which alone the logits read. After 0 3 5 1 3 that is 5. All other heads
give nothing. (The first word is the word before itself: it is one that does not come again.)
"""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from family_reference import to_bytes, write_safetensors

N, HEADS = 8, 4
C = HEADS * N
WORD, BEFORE, ANSWER, PLACE = (N * i for i in range(4))
SHARP, GAIN = 4.0, 0.25

CONFIG = """{
  "model_type": "gpt2",
  "vocab_size": 8,
  "n_positions": 8,
  "n_embd": 32,
  "n_layer": 2,
  "n_head": 4,
  "n_inner": 4,
  "tie_word_embeddings": false
}
"""


def zeros(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def identity(matrix, row, column, scale, shift=0):
    """Ones from a row and a column on; with a shift, from each place to the one before it."""
    for i in range(shift, N):
        matrix[row + i][column + i - shift] = scale


tensors = {}


def put(name, matrix):
    rows = matrix if isinstance(matrix[0], list) else [matrix]
    shape = [len(matrix), len(matrix[0])] if rows is matrix else [len(matrix)]
    tensors[name] = ("F32", shape, to_bytes([v for row in rows for v in row], "F32"))


words, places, head = zeros(N, C), zeros(N, C), zeros(N, C)
identity(words, 0, WORD, 1.0), identity(places, 0, PLACE, 1.0), identity(head, 0, ANSWER, 1.0)
put("wte.weight", words), put("wpe.weight", places), put("lm_head.weight", head)
for layer, (number, query, key, shift, to) in enumerate(((1, PLACE, PLACE, 1, BEFORE),
                                                         (2, WORD, BEFORE, 0, ANSWER))):
    joined, out = zeros(C, 3 * C), zeros(C, C)
    identity(joined, query, number * N, SHARP, shift)
    identity(joined, key, C + number * N, 1.0)
    identity(joined, WORD, 2 * C + number * N, 1.0)
    identity(out, number * N, to, GAIN)
    at = f"h.{layer}."
    put(at + "attn.c_attn.weight", joined), put(at + "attn.c_attn.bias", [0.0] * 3 * C)
    put(at + "attn.c_proj.weight", out), put(at + "attn.c_proj.bias", [0.0] * C)
    put(at + "mlp.c_fc.weight", zeros(C, 4)), put(at + "mlp.c_fc.bias", [0.0] * 4)
    put(at + "mlp.c_proj.weight", zeros(4, C)), put(at + "mlp.c_proj.bias", [0.0] * C)
    for norm in ("ln_1", "ln_2"):
        put(f"{at}{norm}.weight", [1.0] * C), put(f"{at}{norm}.bias", [0.0] * C)
put("ln_f.weight", [1.0] * C), put("ln_f.bias", [0.0] * C)
folder = pathlib.Path(__file__).resolve().parent / "induction"
folder.mkdir(exist_ok=True)
(folder / "config.json").write_text(CONFIG)
write_safetensors(folder / "model.safetensors", dict(sorted(tensors.items())), {"format": "pt"})
