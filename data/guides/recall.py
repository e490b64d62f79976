"""Write a model of one gated delta layer with weights set by hand, which learns pairs from its text.

    python3 data/guides/recall.py recall

The convolution gives each token the key of the token before it and a value of its own, so that "cat
red" writes red at the key cat. A later "cat" asks for what is written at its key. Head 0 keeps all;
head 1 loses half of what it has at each token.
"""
import json
import os
import struct
import sys

WORDS = "cat dog bird red blue green black white is a the and now then was old".split()
C = len(WORDS)
HEADS = 2


def diagonal(rows, columns, value=1.0):
    """A matrix that is `value` where row and column are equal, modulo the number of channels."""
    return [value * (row % C == column % C) for row in range(rows) for column in range(columns)]


def save(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in tensors.items():
        numbers = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
wide = HEADS * C
layer, mixer = "model.layers.0.", "model.layers.0.linear_attn."
config = {
    "model_type": "qwen3_5_text", "layer_types": ["linear_attention"], "num_hidden_layers": 1,
    "vocab_size": C, "hidden_size": C, "intermediate_size": 1, "hidden_act": "silu",
    "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8,
    "linear_num_key_heads": HEADS, "linear_num_value_heads": HEADS,
    "linear_key_head_dim": C, "linear_value_head_dim": C, "linear_conv_kernel_dim": 2,
    "rms_norm_eps": 1e-6, "max_position_embeddings": 64, "tie_word_embeddings": True,
}
tensors = {
    "model.embed_tokens.weight": ([C, C], diagonal(C, C)),
    "model.norm.weight": ([C], [0.0] * C),
    layer + "input_layernorm.weight": ([C], [0.0] * C),
    layer + "post_attention_layernorm.weight": ([C], [0.0] * C),
    layer + "mlp.gate_proj.weight": ([1, C], [0.0] * C),
    layer + "mlp.up_proj.weight": ([1, C], [0.0] * C),
    layer + "mlp.down_proj.weight": ([C, 1], [0.0] * C),
    # queries, keys and values are the word; keys are those of the token before
    mixer + "in_proj_qkv.weight": ([3 * wide, C], diagonal(3 * wide, C)),
    mixer + "conv1d.weight": ([3 * wide, 1, 2],
                              [0.0, 1.0] * wide + [1.0, 0.0] * wide + [0.0, 1.0] * wide),
    mixer + "in_proj_b.weight": ([HEADS, C], [3.0] * HEADS * C),  # written with nearly all strength
    mixer + "in_proj_a.weight": ([HEADS, C], [0.0] * HEADS * C),
    mixer + "dt_bias": ([HEADS], [0.0] * HEADS),
    mixer + "A_log": ([HEADS], [-20.0, 0.0]),  # decays 1 and 1/2
    mixer + "in_proj_z.weight": ([wide, C], [1.0] * wide * C),
    mixer + "norm.weight": ([C], [1.0] * C),
    mixer + "out_proj.weight": ([C, wide], diagonal(C, wide, 0.5)),
}
save(os.path.join(folder, "model.safetensors"), tensors)
for name, value in (("config.json", config), ("vocab.json", {w: i for i, w in enumerate(WORDS)})):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file)
