#!/usr/bin/env python3
"""The reference of all model families in float64: compare it with transformers, make small models.

usage: family_reference.py check FOLDER...      compares it with expected.json, from transformers
       family_reference.py shrink FROM TO [CHANGE...]
                                                makes a small model and its expected.safetensors
       family_reference.py expect FOLDER...     writes expected.safetensors of small models again

layers.py is the pass, family_layers.py reads the configs; neither shares code with the program.
`shrink` takes the config, the names and types of the tensors, and the ids in expected.json of FROM,
and draws smaller tensors.
A CHANGE of the small model is KEY=JSON, a key of its config (or of the text_config in it), +REGEX:
add biases to these weights, or -REGEX: leave out these tensors.
"""
import json, math, pathlib, random, re, struct, sys

import numpy as np

from family_layers import SKIP, describe
from layers import TEXT, Id, Pass, Weights, run, slot_shape

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "BOOL": 1, "U8": 1, "I64": 8}
LETTERS = {"F64": "d", "F32": "f", "F16": "e"}


# --- tensors --------------------------------------------------------------------------------------

def from_bytes(data, dtype):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return list(struct.unpack(f"<{len(data) // SIZES[dtype]}{LETTERS[dtype]}", data))


def to_bytes(values, dtype):
    if dtype == "BF16":
        return b"".join(struct.pack("<f", x)[2:] for x in values)
    return struct.pack(f"<{len(values)}{LETTERS[dtype]}", *values)


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    for entry in header.values():
        begin, end = entry["data_offsets"]
        entry["data"] = data[8 + size + begin:8 + size + end]
    return header


def write_safetensors(path, tensors, notes=None):
    header, data = {"__metadata__": notes} if notes else {}, b""
    for name, (dtype, shape, part) in tensors.items():
        ends = [len(data), len(data) + len(part)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": ends}
        data += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def notes_of(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def entries_of(folder):
    """The tensors of a model of one file or of several."""
    index = folder / "model.safetensors.index.json"
    names = (sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.exists()
             else ["model.safetensors"])
    return {name: entry for file in names for name,
            entry in read_safetensors(folder / file).items()}


def bare(name):
    """The name of a tensor in a file of today: old files of BERT have others for norms."""
    return name.replace("LayerNorm.gamma",
                        "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def arrays_of(entries):
    """Tensors in float64, those of whole numbers and of masks left out."""
    return {bare(name): np.array(from_bytes(e["data"], e["dtype"])).reshape(e["shape"])
            for name, e in entries.items() if e["dtype"] == "BF16" or e["dtype"] in LETTERS}


def open_model(folder):
    """The description of a model and its tensors."""
    config = json.loads((folder / "config.json").read_text())
    files = arrays_of(entries_of(folder))
    return describe(config, files), files


# --- comparison -----------------------------------------------------------------------------------

def check(folder):
    model, files = open_model(folder)
    expected = json.loads((folder / "expected.json").read_text())
    seen = run(model, files, expected["ids"], expected.get("source_ids"),
               expected.get("segments")).tensors
    wanted_names = {name for name in expected["tensors"] if not name.startswith("mask_")}
    assert set(seen) >= wanted_names, wanted_names - set(seen)
    worst = 0
    for name in wanted_names:
        tensor = expected["tensors"][name]
        wanted = np.array([-math.inf if v == "-inf" else v for v in tensor["data"]])
        assert tensor["shape"] == list(seen[name].shape), name
        found, finite = seen[name].ravel(), np.isfinite(wanted)
        assert (np.isfinite(found) == finite).all(), name
        off = abs(found[finite] - wanted[finite]).max() / max(1.0, abs(wanted[finite]).max())
        worst = max(worst, off)
    print(f"{folder.name}: {len(seen)} tensors, {worst:.1e} of the largest value at most")
    return worst < 1e-8


# --- smaller models -------------------------------------------------------------------------------

WORDS, TOKENS, INNER, HEADS = 13, 6, 8, 4
NO_ROTARY = ("bloom", "gpt_neo", "opt", "gpt_bigcode", "mpt", "xglm", "biogpt", "openai-gpt")
POSITION_TABLES = ("opt", "gpt_neo", "biogpt", "gpt_bigcode", "openai-gpt", "albert", "bart",
                   "bert", "distilbert", "electra", "esm", "mbart", "mpnet", "roberta")
HEAD_COUNTS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads",
               "encoder_attention_heads")
WIDTH = ("hidden_size", "n_embd", "d_model", "dim")
SIZES_OF_PARTS = dict(
    moe_intermediate_size=4, shared_intermediate_size=6, shared_expert_intermediate_size=6,
    decoder_vocab_size=WORDS, encoder_ffn_dim=8, decoder_ffn_dim=10, d_ff=8, hidden_dim=8, d_kv=4,
    embedding_size=6, vocab_size_per_layer_input=WORDS, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6, kv_lora_rank=6,
    q_lora_rank=8)
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")


def first_of(config, names):
    return next((name for name in names if name in config), None)


def head_size(config):
    """The smallest head size whose rotated part has an even number of channels."""
    scaling = config.get("rope_scaling") or {}
    alibi = config.get("position_embedding_type") == "alibi"
    if config["model_type"] in NO_ROTARY or config.get("alibi") or alibi:
        return 2
    if scaling and scaling.get("type") != "longrope":
        return 8
    share = config.get("partial_rotary_factor") or config.get("rotary_pct") or 1
    return next(d for d in (4, 6, 8, 10, 12) if int(d * share) >= 2 and int(d * share) % 2 == 0)


def smaller(config):
    """A smaller config with the same features: grouped heads, rotated channels, experts."""
    if "text_config" in config:
        return dict(config, text_config=smaller(config["text_config"]))
    new = dict(config, vocab_size=WORDS)
    key = first_of(new, HEAD_COUNTS)
    groups = new.get("num_key_value_heads") or new.get("num_kv_heads") or 1
    slopes = new["model_type"] in ("bloom", "mpt") or new.get("alibi") or \
        new.get("position_embedding_type") == "alibi"
    most = HEADS + 2 if slopes else HEADS  # a number of heads that is not a power of two
    if new[key] > most:
        new[key] = most if groups == config[key] else 2 * groups
        for name in ("num_key_value_heads", "num_kv_heads"):
            if new.get(name) == config[key]:
                new[name] = new[key]
    scaling, width = new.get("rope_scaling") or {}, first_of(new, WIDTH)
    if new.get("head_dim"):
        new["hidden_size"] = 4 * new[key] if new["model_type"] == "cohere2" else 8
        if not scaling:
            new["head_dim"] = 4
    elif any(name in new for name in ("d_kv", "qk_rope_head_dim", "encoder_layers")):
        new[width] = 8
    else:
        new[width] = new[key] * head_size(new)
    if "rotary_dim" in new:
        new["rotary_dim"] = 2
    if scaling.get("type") == "longrope":
        new["original_max_position_embeddings"] = 5
        new["rope_scaling"] = dict(scaling, short_factor=scaling["short_factor"][:2],
                                   long_factor=scaling["long_factor"][-2:])
    if scaling.get("rope_type") == "dynamic":
        new["max_position_embeddings"] = 5
    for name in ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner",
                 "word_embed_proj_dim"):
        if new.get(name) is not None:
            same = config[name] == config.get("hidden_size")
            new[name] = new["hidden_size"] if same else 6 if name.startswith("word") else INNER
    for name, size in SIZES_OF_PARTS.items():
        if new.get(name) is not None:
            new[name] = new["hidden_size"] if new[name] == config.get("hidden_size") else size
    if new["model_type"] in POSITION_TABLES:
        new[first_of(new, POSITIONS)] = TOKENS + 6
    return new


class Drawn(Weights):
    """Random tensors with the names and types of a file, drawn when the pass first reads them."""

    def __init__(self, model, entries, more_positions):
        super().__init__(model, {bare(name): name for name in entries})
        self.entries, self.made, self.more_positions = entries, {}, more_positions
        self.one_plus = model.stacks[TEXT].unembed.norm.one_plus

    def tensor(self, full, slot):
        name = self.files[full]
        if name not in self.made:
            dtype = self.entries[name]["dtype"].replace("F64", "F32")
            shape = self.shape(self.entries[name]["shape"], slot)
            self.made[name] = (dtype, shape, to_bytes(self.draw(name, shape, slot), dtype))
        dtype, shape, data = self.made[name]
        return np.array(from_bytes(data, dtype)).reshape(shape)

    def shape(self, old, slot):
        """The shape in the file: rows of all members, [in, out], all experts, one head …"""
        row = self.model.rows[slot.part, Id(slot.id & ~1)]
        shape = list(slot_shape(self.model, slot))
        if row.members:
            ids = [Id(member + (slot.id & 1)) for member in row.members]
            shape[0] = sum(slot_shape(self.model, slot._replace(id=id))[0] for id in ids)
        if row.per_head:
            shape = shape[1:]
        if row.transposed:
            shape.reverse()
        if slot.id == Id.POSITIONS:
            shape[0] = old[0] + self.more_positions
        if row.stacked:
            shape.insert(0, old[0])
        if row.flat:
            shape[0] *= row.flat
        return [1] * (len(old) - len(shape)) + shape if old else []

    def draw(self, name, shape, slot):
        """Random numbers; norms and biases are far from 1 and 0, so that leaving one out shows."""
        dice, count = random.Random(name), math.prod(shape)
        if slot.id == Id.XIELU_EPSILON:
            return [-0.1] * count
        if "NORM" in slot.id.name or slot.id & 1 or len(slot_shape(self.model, slot)) == 1:
            scales = "NORM" in slot.id.name and not slot.id & 1 and not self.one_plus
            return [scales + dice.gauss(0, 0.4) for _ in range(count)]
        spread = 1 / math.sqrt(slot_shape(self.model, slot)[1])
        return [dice.gauss(0, spread) for _ in range(count)]


def is_kept(name):
    """Whether expected.safetensors has a tensor: all of layer 0 except those that others determine;
    of later layers only the masked scores and the choice of experts: the logits show the rest."""
    parts = name.split(".")
    if len(parts) < 3:
        return name not in ("ln_f", "enc.ln_f")
    return parts[2] not in ("resid_pre", "resid_mid", "scores") and (
        parts[1] == "0" or parts[2] in ("masked", "router", "expert_weights"))


def continue_greedily(model, files, ids, count, source):
    """Stop when the two largest logits are too close."""
    text = list(ids)
    while len(text) < len(ids) + count:
        logits = run(model, files, text, source).tensors["logits"][-1]
        best, next_best = sorted(logits)[:-3:-1]
        if best - next_best < 2e-3:
            break
        text.append(int(logits.argmax()))
    return text[len(ids):]


def write_expected(folder, ids, greedy, source=None, segments=None):
    """Run a small model; greedy: how many tokens to continue."""
    model, files = open_model(folder)
    seen = run(model, files, ids, source, segments).tensors
    notes = {"ids": ids, "greedy": continue_greedily(model, files, ids, greedy, source)}
    notes |= {"source_ids": source} if source else {}
    notes |= {"segments": segments} if segments else {}
    kept = {name: ("F32", list(x.shape), to_bytes(x.ravel().tolist(), "F32"))
            for name, x in seen.items() if is_kept(name)}
    write_safetensors(folder / "expected.safetensors", kept,
                      {name: json.dumps(x, separators=(",", ":")) for name, x in notes.items()})


def expect(folder):
    notes = {name: json.loads(x) for name, x in notes_of(folder / "expected.safetensors").items()}
    write_expected(folder, notes["ids"], 4 if notes["greedy"] else 0, notes.get("source_ids"),
                   notes.get("segments"))


def change_model(config, entries, changes):
    inner = config.get("text_config", config)
    for change in changes:
        if change.startswith("+"):
            biases = {name.removesuffix("weight") + "bias": dict(entry, shape=[0])
                      for name, entry in entries.items() if re.search(change[1:], name)}
            entries |= biases
        elif change.startswith("-"):
            for name in [name for name in entries if re.search(change[1:], name)]:
                del entries[name]
        else:
            key, value = change.split("=", 1)
            inner[key] = json.loads(value)


def shrink(source, target, changes):
    old = json.loads((source / "config.json").read_text())
    config = smaller(old)
    expected = json.loads((source / "expected.json").read_text())
    entries = entries_of(source)
    change_model(config, entries, changes)
    model = describe(config, {bare(name): name for name in entries})
    place = first_of(config, POSITIONS)
    weights = Drawn(model, entries, config[place] - old[place] if place else 0)

    def short(name):
        ids = expected.get(name)
        return ids and [(7 * i + 3) % WORDS for i in ids][:TOKENS]
    ids, segments = short("ids"), expected.get("segments")
    segments = segments and segments[:TOKENS]
    Pass(model, weights, segments).run(ids, short("source_ids"))
    made = weights.made
    if "model.shared.weight" in entries and "model.shared.weight" not in made:
        dice = random.Random("shared")  # beside tables of the stacks
        made["model.shared.weight"] = ("F32", [WORDS, 8], to_bytes(
            [dice.gauss(0, 0.4) for _ in range(WORDS * 8)], "F32"))
    for name, entry in entries.items():  # masks, frequencies and vision, which nothing reads
        if name not in made and re.search(SKIP, name):
            shape = [min(size, 2) for size in entry["shape"]]
            made[name] = (entry["dtype"], shape, bytes(math.prod(shape) * SIZES[entry["dtype"]]))
    target.mkdir(parents=True, exist_ok=True)
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_safetensors(target / "model.safetensors", dict(sorted(made.items())), {"format": "pt"})
    write_expected(target, ids, 4 if expected.get("greedy") else 0, short("source_ids"), segments)


if __name__ == "__main__":
    command, paths = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    if command == "check":
        sys.exit(not all([check(folder) for folder in paths]))
    elif command == "expect":
        for folder in paths:
            expect(folder)
    else:
        shrink(*paths[:2], sys.argv[4:])
