#!/usr/bin/env python3
"""Train the bundled model `translate`, from English to French, with PyTorch.

    /usr/bin/python3 models/translate/train.py

Writes config.json, vocab.json and model.safetensors into its folder, in about a minute. The seed is
fixed, but other machines round sums differently: weights differ there, translations do not.
"""
import json
import math
import pathlib
import random

import torch
from torch import nn
from torch.nn.functional import cross_entropy

CONFIG = dict(model_type="transformer", n_embd=16, n_head=1, n_inner=32, n_encoder_layer=1,
              n_layer=1, final_norm=False)
STEPS, BATCH = 3000, 64

# An English word and its French ones: masculine and feminine where there are two.
DETERMINERS = [("the", "le", "la"), ("a", "un", "une")]
BEFORE = [("small", "petit", "petite"), ("big", "grand", "grande"), ("old", "vieux", "vieille")]
AFTER = [("black", "noir", "noire"), ("white", "blanc", "blanche"), ("grey", "gris", "grise")]
MASCULINE = [("cat", "chat"), ("dog", "chien"), ("horse", "cheval"), ("wolf", "loup")]
FEMININE = [("cow", "vache"), ("mouse", "souris"), ("hen", "poule"), ("goat", "chèvre")]
TRANSITIVE = [("sees", "voit"), ("follows", "suit"), ("bites", "mord"), ("loves", "aime")]
INTRANSITIVE = [("sleeps", "dort"), ("sings", "chante")]

ENTRIES = (DETERMINERS + BEFORE + AFTER + MASCULINE + FEMININE + TRANSITIVE + INTRANSITIVE)
WORDS = ["<s>", "</s>"] + [e[0] for e in ENTRIES] + [word for e in ENTRIES for word in e[1:]]
IDS = {word: i for i, word in enumerate(WORDS)}


# --- sentences --------------------------------------------------------------------------------


def noun_phrase():
    """the small black cat, le petit chat noir"""
    gender = random.choice((1, 2))
    noun = random.choice((MASCULINE, FEMININE)[gender - 1])
    determiner = random.choice(DETERMINERS)
    before = [random.choice(BEFORE)] if random.random() < 0.5 else []
    after = [random.choice(AFTER)] if random.random() < 0.5 else []
    english = [determiner[0], *(e[0] for e in before + after), noun[0]]
    french = [determiner[gender], *(e[gender] for e in before), noun[1],
              *(e[gender] for e in after)]
    return english, french


def sentence_pair():
    english, french = noun_phrase()
    if random.random() < 0.2:
        verb = random.choice(INTRANSITIVE)
        return english + [verb[0]], french + [verb[1]]
    verb = random.choice(TRANSITIVE)
    other, autre = noun_phrase()
    return english + [verb[0]] + other, french + [verb[1]] + autre


def ids_of(lines):
    """Rows of ids, padded with -100, which the loss ignores."""
    rows = torch.full((len(lines), max(map(len, lines))), -100)
    for row, line in zip(rows, lines):
        row[:len(line)] = torch.tensor([IDS[word] for word in line])
    return rows


# --- the model --------------------------------------------------------------------------------


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        size = CONFIG["n_embd"]
        sizes = dict(d_model=size, nhead=CONFIG["n_head"], dim_feedforward=CONFIG["n_inner"],
                     dropout=0.0, batch_first=True)
        self.wte = nn.Embedding(len(WORDS), size)
        nn.init.normal_(self.wte.weight, std=size**-0.5)
        self.encoder = nn.TransformerEncoderLayer(**sizes)
        self.decoder = nn.TransformerDecoderLayer(**sizes)

    def embed(self, ids):
        size = CONFIG["n_embd"]
        place = torch.arange(ids.shape[1])[:, None]
        angle = place * 10000.0 ** (-torch.arange(0, size, 2) / size)
        waves = torch.stack((angle.sin(), angle.cos()), -1).flatten(1)
        return self.wte(ids.clamp(min=0)) * math.sqrt(size) + waves

    def forward(self, source, sentence):
        padding = source < 0
        memory = self.encoder(self.embed(source), src_key_padding_mask=padding)
        mask = nn.Transformer.generate_square_subsequent_mask(sentence.shape[1])
        y = self.decoder(self.embed(sentence), memory, tgt_mask=mask,
                         memory_key_padding_mask=padding)
        return y @ self.wte.weight.T


def draw_batch(size):
    english, french = zip(*(sentence_pair() for _ in range(size)))
    sentence = ids_of([["<s>", *line] for line in french])
    return ids_of(english), sentence, ids_of([[*line, "</s>"] for line in french])


def train(model):
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=STEPS)
    for _ in range(STEPS):
        source, sentence, wanted = draw_batch(BATCH)
        loss = cross_entropy(model(source, sentence).flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()


def check(model):
    """Print the accuracy on sentences that it has most likely not seen: there are millions."""
    source, sentence, wanted = draw_batch(2000)
    with torch.no_grad():
        found = model(source, sentence).argmax(-1)
    right = ((found == wanted) | (wanted < 0)).all(1).float().mean().item()
    print(f"{right:.2%} of the sentences are right to the last word")


# --- files ------------------------------------------------------------------------------------


def attention_tensors(name, module):
    for part, matrix, bias in zip("qkv", module.in_proj_weight.chunk(3),
                                  module.in_proj_bias.chunk(3)):
        yield f"{name}.{part}_proj.weight", matrix.T
        yield f"{name}.{part}_proj.bias", bias
    yield f"{name}.out_proj.weight", module.out_proj.weight.T
    yield f"{name}.out_proj.bias", module.out_proj.bias


def norm_tensors(name, module):
    yield f"{name}.weight", module.weight
    yield f"{name}.bias", module.bias


def layer_tensors(name, layer, last_norm):
    yield from norm_tensors(f"{name}.ln_1", layer.norm1)
    yield from attention_tensors(f"{name}.attn", layer.self_attn)
    yield from norm_tensors(f"{name}.ln_2", last_norm)
    for part, linear in ("c_fc", layer.linear1), ("c_proj", layer.linear2):
        yield f"{name}.mlp.{part}.weight", linear.weight.T
        yield f"{name}.mlp.{part}.bias", linear.bias


def tensors_of(model):
    yield "wte.weight", model.wte.weight
    yield from layer_tensors("enc.0", model.encoder, model.encoder.norm2)
    yield from layer_tensors("h.0", model.decoder, model.decoder.norm3)
    yield from norm_tensors("h.0.ln_cross", model.decoder.norm2)
    yield from attention_tensors("h.0.cross_attn", model.decoder.multihead_attn)


def save(model, folder):
    header, data = {}, b""
    for name, tensor in tensors_of(model):
        start = len(data)
        data += tensor.detach().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    config = {**CONFIG, "vocab_size": len(WORDS), "bos_token_id": IDS["<s>"],
              "eos_token_id": IDS["</s>"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.json").write_text(json.dumps(IDS, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    torch.manual_seed(2017)
    random.seed(2017)
    torch.set_num_threads(1)
    model = Translator()
    train(model)
    check(model)
    save(model, pathlib.Path(__file__).parent)
