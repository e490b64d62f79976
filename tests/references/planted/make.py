#!/usr/bin/env python3
"""Write models with a hand-made induction circuit into this folder. usage: make.py

A GPT-2 and a Llama of 8 words, with MLPs of zeros. The residual stream has four blocks of 8
channels: word, previous word, answer, position. Head 0.1 attends to the previous word and writes
its word into the second block; head 1.2 attends to the key whose previous word is the query's, and
writes the key's word into the third block, the only one that the unembedding reads. After 0 3 5 1 3
this is 5. Other heads output zeros. (The first word, its own previous word, must not occur again.)

The Llama has a constant 1 in place of the position. Its heads have a further pair of dimensions with
a rotation of 1 per token, in which keys are ahead by a token; the other pairs hardly rotate.
"""
import math, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from family_reference import to_bytes, write_safetensors

N, HEADS = 8, 4
C = HEADS * N
WORD, BEFORE, ANSWER, PLACE = (N * i for i in range(4))
GAIN = 0.25

GPT2 = """{
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

LLAMA = """{
  "model_type": "llama",
  "vocab_size": 8,
  "max_position_embeddings": 8,
  "hidden_size": 32,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 4,
  "head_dim": 18,
  "intermediate_size": 4,
  "hidden_act": "silu",
  "rms_norm_eps": 1e-06,
  "rope_theta": 1e+12,
  "tie_word_embeddings": false
}
"""


def zeros(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def identity(matrix, row, column, scale, shift=0):
    """Set N elements of a diagonal to `scale`; `shift` maps each position to an earlier one."""
    for i in range(shift, N):
        matrix[row + i][column + i - shift] = scale


def put(tensors, name, matrix):
    rows = matrix if isinstance(matrix[0], list) else [matrix]
    shape = [len(matrix), len(matrix[0])] if rows is matrix else [len(matrix)]
    tensors[name] = ("F32", shape, to_bytes([v for row in rows for v in row], "F32"))


def save(name, config, tensors):
    folder = pathlib.Path(__file__).resolve().parent / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config)
    write_safetensors(folder / "model.safetensors", dict(sorted(tensors.items())), {"format": "pt"})


def gpt2(sharp=4.0):
    tensors = {}
    words, places, head = zeros(N, C), zeros(N, C), zeros(N, C)
    identity(words, 0, WORD, 1.0), identity(places, 0, PLACE, 1.0), identity(head, 0, ANSWER, 1.0)
    put(tensors, "wte.weight", words), put(tensors, "wpe.weight", places)
    put(tensors, "lm_head.weight", head)
    for layer, (number, query, key, shift, to) in enumerate(((1, PLACE, PLACE, 1, BEFORE),
                                                             (2, WORD, BEFORE, 0, ANSWER))):
        joined, out = zeros(C, 3 * C), zeros(C, C)
        identity(joined, query, number * N, sharp, shift)
        identity(joined, key, C + number * N, 1.0)
        identity(joined, WORD, 2 * C + number * N, 1.0)
        identity(out, number * N, to, GAIN)
        for name, matrix in (("attn.c_attn.weight", joined), ("attn.c_attn.bias", [0.0] * 3 * C),
                             ("attn.c_proj.weight", out), ("attn.c_proj.bias", [0.0] * C),
                             ("mlp.c_fc.weight", zeros(C, 4)), ("mlp.c_fc.bias", [0.0] * 4),
                             ("mlp.c_proj.weight", zeros(4, C)), ("mlp.c_proj.bias", [0.0] * C),
                             ("ln_1.weight", [1.0] * C), ("ln_1.bias", [0.0] * C),
                             ("ln_2.weight", [1.0] * C), ("ln_2.bias", [0.0] * C)):
            put(tensors, f"h.{layer}.{name}", matrix)
    put(tensors, "ln_f.weight", [1.0] * C), put(tensors, "ln_f.bias", [0.0] * C)
    save("induction", GPT2, tensors)


def llama(sharp=16.0):
    tensors = {}
    wide = 2 * (N + 1)  # dimensions i and wide / 2 + i rotate together
    words, head = zeros(N, C), zeros(N, C)
    identity(words, 0, WORD, 1.0), identity(head, 0, ANSWER, 1.0)
    for row in words:
        row[PLACE] = 1.0
    put(tensors, "model.embed_tokens.weight", words), put(tensors, "lm_head.weight", head)
    for layer, (number, to) in enumerate(((1, BEFORE), (2, ANSWER))):
        first = number * wide
        q, k, v = (zeros(HEADS * wide, C) for _ in range(3))
        out = zeros(C, HEADS * wide)
        if layer == 0:
            q[first][PLACE] = sharp
            k[first][PLACE], k[first + wide // 2][PLACE] = math.cos(1), math.sin(1)
        else:
            identity(q, first + 1, WORD, sharp), identity(k, first + 1, BEFORE, 1.0)
        identity(v, first, WORD, 1.0), identity(out, to, first, GAIN)
        for name, matrix in (("self_attn.q_proj", q), ("self_attn.k_proj", k),
                             ("self_attn.v_proj", v), ("self_attn.o_proj", out),
                             ("mlp.gate_proj", zeros(4, C)), ("mlp.up_proj", zeros(4, C)),
                             ("mlp.down_proj", zeros(C, 4)), ("input_layernorm", [1.0] * C),
                             ("post_attention_layernorm", [1.0] * C)):
            put(tensors, f"model.layers.{layer}.{name}.weight", matrix)
    put(tensors, "model.norm.weight", [1.0] * C)
    save("induction-llama", LLAMA, tensors)


gpt2(), llama()
