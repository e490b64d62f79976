#!/usr/bin/env python3
"""Train the bundled models `translate`, from English to French, and `translate-zh`, from English to
Chinese, with PyTorch.

    python3 models/translate.py translate
    python3 models/translate.py translate-zh

Writes config.json, vocab.json and model.safetensors into models/NAME, in about a minute. The seed is
fixed, but other machines round sums differently: weights differ there, translations do not.
"""
import json
import math
import pathlib
import random
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy

CONFIG = dict(model_type="transformer", n_embd=16, n_head=1, n_inner=32, n_encoder_layer=1,
              n_layer=1, final_norm=False)
STEPS, BATCH = 3000, 64

# --- English to French -------------------------------------------------------------------------


class French:
    """An English word and its French ones: masculine and feminine where there are two."""

    DETERMINERS = [("the", "le", "la"), ("a", "un", "une")]
    BEFORE = [("small", "petit", "petite"), ("big", "grand", "grande"), ("old", "vieux", "vieille")]
    AFTER = [("black", "noir", "noire"), ("white", "blanc", "blanche"), ("grey", "gris", "grise")]
    MASCULINE = [("cat", "chat"), ("dog", "chien"), ("horse", "cheval"), ("wolf", "loup")]
    FEMININE = [("cow", "vache"), ("mouse", "souris"), ("hen", "poule"), ("goat", "chèvre")]
    TRANSITIVE = [("sees", "voit"), ("follows", "suit"), ("bites", "mord"), ("loves", "aime")]
    INTRANSITIVE = [("sleeps", "dort"), ("sings", "chante")]
    ENTRIES = (DETERMINERS + BEFORE + AFTER + MASCULINE + FEMININE + TRANSITIVE + INTRANSITIVE)

    def noun_phrase(self):
        """the small black cat, le petit chat noir"""
        gender = random.choice((1, 2))
        noun = random.choice((self.MASCULINE, self.FEMININE)[gender - 1])
        determiner = random.choice(self.DETERMINERS)
        before = [random.choice(self.BEFORE)] if random.random() < 0.5 else []
        after = [random.choice(self.AFTER)] if random.random() < 0.5 else []
        english = [determiner[0], *(e[0] for e in before + after), noun[0]]
        french = [determiner[gender], *(e[gender] for e in before), noun[1],
                  *(e[gender] for e in after)]
        return english, french

    def sentence_pair(self):
        english, french = self.noun_phrase()
        if random.random() < 0.2:
            verb = random.choice(self.INTRANSITIVE)
            return english + [verb[0]], french + [verb[1]]
        verb = random.choice(self.TRANSITIVE)
        other, autre = self.noun_phrase()
        return english + [verb[0]] + other, french + [verb[1]] + autre


# --- English to Chinese ------------------------------------------------------------------------


class Chinese:
    """An English word and its Chinese ones: with the classifiers of animals, of flat things and of
    places where there are three. A place after 在 has no classifier."""

    DETERMINERS = [("the", "那只", "那张", "那座"), ("a", "一只", "一张", "一座")]
    ADJECTIVES = [("small", "小"), ("big", "大"), ("black", "黑"), ("white", "白")]
    ANIMALS = [("cat", "猫"), ("dog", "狗"), ("bird", "鸟"), ("mouse", "老鼠")]
    FLAT = [("mat", "垫子"), ("table", "桌子"), ("bed", "床")]
    PLACES = [("house", "房子"), ("garden", "花园")]
    RESTING = [("sat", "坐"), ("sleeps", "睡"), ("waits", "等")]
    TRANSITIVE = [("sees", "看见"), ("likes", "喜欢")]
    WHERE = [("on", "在", "上"), ("in", "里")]
    ENTRIES = DETERMINERS + ADJECTIVES + ANIMALS + FLAT + PLACES + RESTING + TRANSITIVE + WHERE

    def noun_phrase(self, kind):
        """the small cat, 那只 小 猫: determiner and rest of both"""
        noun = random.choice((self.ANIMALS, self.FLAT, self.PLACES)[kind - 1])
        determiner = random.choice(self.DETERMINERS)
        adjective = [random.choice(self.ADJECTIVES)] if random.random() < 0.4 else []
        english, chinese = ([e[side] for e in [*adjective, noun]] for side in (0, 1))
        return [determiner[0], *english], determiner[kind], chinese

    def sentence_pair(self):
        english, classifier, chinese = self.noun_phrase(1)
        chinese = [classifier, *chinese]
        if random.random() < 0.3:
            verb = random.choice(self.TRANSITIVE)
            other, classifier, thing = self.noun_phrase(random.choice((1, 2, 3)))
            return english + [verb[0]] + other, chinese + [verb[1], classifier] + thing
        verb = random.choice(self.RESTING)
        kind = random.choice((2, 3))
        where, side = ("on", "上") if kind == 2 else ("in", "里")
        other, _, thing = self.noun_phrase(kind)
        return english + [verb[0], where] + other, chinese + [verb[1], "在"] + thing + [side]


LANGUAGE = {"translate": French, "translate-zh": Chinese}[sys.argv[1]]()
WORDS = ["<s>", "</s>"] + [e[0] for e in LANGUAGE.ENTRIES]
WORDS += [word for e in LANGUAGE.ENTRIES for word in e[1:]]
IDS = {word: i for i, word in enumerate(WORDS)}


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
    english, other = zip(*(LANGUAGE.sentence_pair() for _ in range(size)))
    sentence = ids_of([["<s>", *line] for line in other])
    return ids_of(english), sentence, ids_of([[*line, "</s>"] for line in other])


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
    save(model, pathlib.Path(__file__).parent / sys.argv[1])
