"""Compare logits and token ids of GGUF files with llama.cpp (node-llama-cpp of npm): files written by
write.py, and the files that llama.cpp makes from them: saved, quantised, and converted to F32.

    make test-gguf
    VERBOSE=1 PEERS=$PWD/build/peers /usr/bin/python3 tests/references/gguf/llama_cpp.py build/attn-cli

With keys and values in F32 and without flash attention, llama.cpp computes F32 files in float32,
except for GELU. Its other roundings determine the bounds on the difference of logits:

    GELU         a table: argument and result are rounded to 11 bits
    F16, BF16    the vectors that are multiplied by a matrix are rounded to 11 bits, or 8
    quantised    these vectors are rounded to 8 bits, relative to the largest number of a block

For the last two, llama.cpp also converts the file to F32, which needs no bound for the type of
matrices. A file with a deliberate error must differ by more than four times the bound.
"""
import ctypes
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata

import numpy

sys.path.insert(0, "tests/references/peers")
from llama import IN_FLOAT32, Llama  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
BINARIES = os.environ["PEERS"] + "/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"

# Bounds as fractions of the largest logit, for two or three layers of four matrices in sequence.
SUMS = 1e-5  # sums in another order
GELU = 4 * 2**-11
QUANTISED = 0.1  # each matrix adds 0.007 of a typical number; the worst of 51,200 logits has 0.054
ROUNDED = {"F32": 0, "F16": 8 * 2**-11, "BF16": 8 * 2**-8}

MODELS = {  # type of the matrices, bound for other roundings
    "models/tiny": ("F32", GELU), "tests/references/golden/gpt2-micro": ("F32", GELU),
    "tests/references/golden/gpt2-micro-bf16-prefixed-untied": ("BF16", GELU),
    "tests/references/golden-families/llama": ("F32", 0),
    "tests/references/golden-families/llama-rope-linear": ("F32", 0),
    "tests/references/golden-families/llama-rope-llama3": ("F32", 0),
    "tests/references/golden-families/llama-bf16-tied-biases": ("BF16", 0),
    "tests/references/golden-families/mistral": ("F32", 0),
    "tests/references/golden-families/qwen2": ("F32", 0), "tests/references/golden-families/qwen3": ("F32", 0),
    "tests/references/golden-families/gemma": ("F32", GELU), "tests/references/golden-families/gpt_neox": ("F32", GELU),
    "tests/references/golden-families/gemma2": ("F32", GELU),
    "tests/references/golden-families/gemma3_text": ("F32", GELU),
    "tests/references/golden-families/granite": ("F32", 0), "tests/references/golden-families/smollm3": ("F32", 0),
    "tests/references/golden-families/olmo2": ("F32", 0), "tests/references/golden-families/phi": ("F32", GELU),
    "tests/references/golden-families/phi3": ("F32", 0), "tests/references/golden-families/phi3-longrope": ("F32", 0),
    "tests/references/golden-families/stablelm": ("F32", 0), "tests/references/golden-families/starcoder2": ("F32", GELU),
    "tests/references/golden-families/mpt": ("F32", GELU), "tests/references/golden-families/mpt-clip": ("F32", GELU),
    "tests/references/golden-families/bloom": ("F32", GELU), "tests/references/golden-families/falcon": ("F32", GELU),
    "tests/references/golden-families/falcon-7b-style": ("F32", GELU),
    "tests/references/golden-families/olmo": ("F32", 0), "tests/references/golden-families/olmo-no-clip": ("F32", 0),
    "tests/references/golden-families/olmo3": ("F32", 0), "tests/references/golden-families/arcee": ("F32", 0),
    "tests/references/golden-families/exaone4": ("F32", 1e-4),  # 64 layers
    "tests/references/golden-families/exaone4-no-window": ("F32", 0),
    "tests/references/golden-families/seed_oss": ("F32", 0),
    "tests/references/golden-families/hunyuan_v1_dense": ("F32", 0),
    "tests/references/golden-families/ernie4_5": ("F32", 0), "tests/references/golden-families/glm": ("F32", 0),
    "tests/references/golden-families/glm-no-bias": ("F32", 0), "tests/references/golden-families/glm4": ("F32", 0),
    "tests/references/golden-families/cohere-qk-norm": ("F32", 0), "tests/references/golden-families/cohere2": ("F32", 0),
    "tests/references/golden-families/nemotron": ("F32", 0),
    "tests/references/golden-families/nemotron-biases": ("F32", 0),
    "tests/references/golden-families/gpt_bigcode": ("F32", GELU),
}
# Frozen files that llama.cpp's own converter wrote, of sizes that llama.cpp accepts.
CONVERTED = ("lfm2", "lfm2_moe", "granitemoehybrid", "granitehybrid-dense", "mamba", "falcon_h1",
             "nemotron_h", "nemotron_h_moe")
ITS_WINDOW = "cohere2", "exaone4", "gemma", "gemma2", "gemma3_text", "olmo3"  # windows that llama.cpp computes
SQUARE = "glm", "glm4", "nemotron", "exaone4"  # llama.cpp needs heads of all channels together
WORDS = 1280  # vocabulary of tiny
QUERIES = r"\b0\.(self_attn\.q(kv)?_proj|attn\.(c_attn|Wqkv)|(self_)?attention\.query_key_value)\.weight"
FILE_TYPES = {"F32": 0, "F16": 1, "BF16": 32, "Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7,
              "Q2_K": 10, "Q3_K": 11, "Q4_K": 15, "Q5_K": 17, "Q6_K": 18, "IQ4_NL": 25,
              "IQ4_XS": 30}  # a file of a K type has some matrices of other types
WIDE_LLAMA = "n_embd=256,intermediate_size=512,initializer_range=0.06"  # as long as K blocks


def any_text(_):
    return True


def composed(text):
    """llama.cpp does not normalise to NFC, as a tokenizer.json asks for."""
    return unicodedata.normalize("NFC", text) == text


def without_tokens(text):
    """llama.cpp looks for these pieces in the unchanged text: before it adds a blank at the beginning,
    and also where the text itself contains ▁."""
    return not re.search("<unk>|<user>|a b|(^| )x|▁|\n\n", text)


TOKENIZERS = {  # beginning-of-text token; texts for which llama.cpp gives the same ids
    "qwen2-like": (0, composed), "gpt-neox-like": (0, composed), "smollm2-like": (0, any_text),
    "llama-3-like": (2256, any_text), "sentencepiece-bpe": (1, without_tokens),
}


# Other values of tokenizer.ggml.pre, with a tokenizer of tests/texts/tokenizers. Not falcon, for which
# llama.cpp splits numbers otherwise than Hugging Face's library.
PRES = {"bloom": "falcon-like", "dbrx": "llama-3-like", "smaug-bpe": "llama-3-like",
        "stablelm2": "qwen2-like", "starcoder": "smollm2-like", "refact": "smollm2-like"}
# Values of which "splits" shows where texts are split.
SPLITS = ("mpt", "exaone4", "trillion", "chatglm-bpe", "glm4", "exaone", "minerva-7b", "command-r",
          "gpt-4o", "tekken", "seed-coder", "qwen35", "hunyuan-dense", "gigachat", "falcon3", "hunyuan",
          "deepseek-v3", "deepseek-coder", "poro-chat", "viking")  # deepseek-llm: as falcon


class Tally:
    passed = failed = 0

    def check(self, good, what, found):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good or os.environ.get("VERBOSE"):
            print(f"{'passed' if good else 'failed'}: {what}: {found}", flush=True)

    def attempt(self, check, *arguments):
        try:
            check(self, *arguments)
        except (subprocess.CalledProcessError, AssertionError, ValueError) as error:
            self.check(False, arguments[0], f"{type(error).__name__} {error}")

    def near(self, what, ours, theirs, bound):
        off = numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
        self.check(off <= bound, what, f"expected at most {bound:.2g}, found {off:.2g}")

    def far(self, what, ours, theirs, bound):
        off = numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
        self.check(off > 4 * bound, what, f"expected over {4 * bound:.2g}, found {off:.2g}")


def attn(*arguments):
    return subprocess.check_output([PROGRAM, *arguments], text=True)


def write(model, path, *options):
    subprocess.check_call([sys.executable, "tests/references/gguf/write.py", model, path, *options])
    return path


def ours(model, ids):
    with tempfile.TemporaryDirectory() as folder:
        attn("run", "-m", model, "--ids", ",".join(map(str, ids)), "--show", "logits",
             "-o", f"{folder}/logits.npy")
        return numpy.load(f"{folder}/logits.npy")


def theirs(path, ids):
    llama = Llama(path, **IN_FLOAT32)
    logits = llama.logits(ids)
    llama.close()
    return logits


class Quantising(ctypes.Structure):
    """The first fields of llama_model_quantize_params, and enough space for the others."""
    _fields_ = [("threads", ctypes.c_int32), ("file_type", ctypes.c_int32),
                ("output_type", ctypes.c_int32), ("embedding_type", ctypes.c_int32),
                ("widens", ctypes.c_bool), ("rest", ctypes.c_byte * 239)]


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def silence(*_):
    pass


def open_library(name):
    (path,) = glob.glob(f"{BINARIES}/lib{name}.v*.so")
    return ctypes.CDLL(path)


def open_llama():
    library = open_library("llama")
    library.llama_log_set(silence, None)
    return library


def quantise(source, path, name):
    """Quantise a file with llama.cpp."""
    library = open_llama()
    library.llama_model_quantize_default_params.restype = Quantising
    options = library.llama_model_quantize_default_params()
    assert (options.threads, options.file_type, options.widens) == (0, FILE_TYPES["Q8_0"], False)
    options.threads, options.file_type, options.widens = 1, FILE_TYPES[name], True
    assert library.llama_model_quantize(source.encode(), path.encode(), ctypes.byref(options)) == 0
    return path


class Opening(ctypes.Structure):
    """More space than llama_model_params needs."""
    _fields_ = [("all", ctypes.c_byte * 512)]


def save(source, path):
    """Load a file and save it with llama.cpp, which writes all keys that it knows."""
    library = open_llama()
    open_library("ggml").ggml_backend_load_all_from_path(BINARIES.encode())
    library.llama_model_default_params.restype = Opening
    library.llama_model_load_from_file.restype = ctypes.c_void_p
    library.llama_model_save_to_file.argtypes = ctypes.c_void_p, ctypes.c_char_p
    options = library.llama_model_default_params()
    model = library.llama_model_load_from_file(source.encode(), options)
    assert model
    library.llama_model_save_to_file(model, path.encode())
    library.llama_model_free(ctypes.c_void_p(model))
    return path


def widen(path):
    return quantise(path, f"{path}-f32.gguf", "F32")


def some_ids(vocabulary, count=40):
    return [(7 * i * i + 3 * i + 1) % vocabulary for i in range(count)]


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def swap_rows(folder):
    """Swap the first two rows of the first layer's query matrix, like a wrong layout."""
    with open(f"{folder}/model.safetensors", "r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(size)).items()
        (entry,) = (entry for name, entry in entries if re.search(QUERIES, name))
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        row = (end - begin) // entry["shape"][0]
        file.seek(begin)
        rows = file.read(2 * row)
        file.seek(begin)
        file.write(rows[row:] + rows[:row])


def adapt(config):
    """Change what a GGUF file cannot say, or llama.cpp does not compute."""
    kind = config["model_type"]
    if kind not in ITS_WINDOW:
        config["sliding_window"] = None
    if kind in ("gemma2", "gemma3_text"):
        config["query_pre_attn_scalar"] = config["head_dim"]
    if kind == "mpt":
        config["attn_config"]["softmax_scale"] = None
    if kind == "mistral":
        config["model_type"] = "llama"  # the same model without a window
    if kind == "smollm3":  # only every fourth layer is without a rotary embedding
        config |= {"no_rope_layers": None, "no_rope_layer_interval": 4, "num_hidden_layers": 4,
                   "layer_types": None}


    if kind == "cohere":  # smaller ones have no norms of queries and keys
        config["num_hidden_layers"] = 64
    if kind == "cohere2":  # every fourth layer has neither a window nor a rotary embedding
        config |= {"sliding_window_pattern": 4, "num_hidden_layers": 4}
    if kind in ("exaone4", "olmo3") and config["sliding_window"]:  # exaone4 only with 64 layers
        layers = ["sliding_attention"] * 3 + ["full_attention"]
        count = 64 if kind == "exaone4" else 4
        config |= {"layer_types": layers * (count // 4), "num_hidden_layers": count}
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "yarn":  # llama.cpp has constants for them
        scaling.pop("attention_factor", None)
        scaling["beta_fast"] = 32
    if kind in SQUARE:
        config["num_attention_heads"] = config["hidden_size"] // config["head_dim"]


def change_tensors(path, change):
    """Rewrite a file of F32 with the tensors that `change` adds or replaces."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    arrays = {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(
        entry["shape"]) for name, entry in header.items()}
    change(arrays)
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape,
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def make_square(size):
    """Leave out heads, so that queries have `size` channels."""
    def change(arrays):
        for name, array in arrays.items():
            if "self_attn.q_proj" in name:
                arrays[name] = array[:size]
            if "self_attn.o_proj.weight" in name:
                arrays[name] = array[:, :size]
    return change


def add_layers(layers):
    """Copy the first layer to others."""
    def change(arrays):
        for name, array in [*arrays.items()]:
            if name.startswith("model.layers.0."):
                arrays |= {name.replace(".0.", f".{layer}."): array for layer in layers}
    return change


def check_model(tally, model, folder, type_name, rounded):
    """Compare attn-cli on a directory with llama.cpp on the GGUF file written from it."""
    name, copy = os.path.basename(model), f"{folder}/{os.path.basename(model)}"
    os.mkdir(copy)
    for part in "config.json", "model.safetensors":
        shutil.copy(f"{model}/{part}", copy)
    config = read_json(f"{copy}/config.json")
    layers = config.get("num_hidden_layers")
    adapt(config)
    with open(f"{copy}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    if config.get("num_hidden_layers") != layers:
        added = range(layers, config["num_hidden_layers"])
        change_tensors(f"{copy}/model.safetensors", add_layers(added))
    if config["model_type"] in SQUARE:
        change_tensors(f"{copy}/model.safetensors", make_square(config["hidden_size"]))
    lengths = map(config.get, ("n_positions", "max_seq_len", "max_position_embeddings"))
    context = next(filter(None, lengths), 40)
    ids = some_ids(config["vocab_size"], min(context, 40))
    found, path = ours(copy, ids), write(copy, f"{copy}.gguf", type_name)
    exact = own = theirs(path, ids)
    if type_name != "F32":
        tally.near(f"{name} in {type_name}", found, own, SUMS + rounded + ROUNDED[type_name])
        exact = theirs(widen(path), ids)
    tally.near(f"{name} in F32", found, exact, SUMS + rounded)
    saved = ours(save(path, f"{copy}-saved.gguf"), ids)
    tally.check(numpy.array_equal(saved, ours(path, ids)), f"{name} as llama.cpp saves it",
                "expected the same bits")
    swap_rows(copy)
    tally.far(f"{name} with rows swapped", ours(copy, ids), exact, SUMS + rounded)


def check_converted(tally, name, folder):
    path, ids = f"tests/references/gguf/{name}.gguf", some_ids(29)
    found = ours(path, ids)
    tally.near(f"{name}, converted", found, theirs(path, ids), SUMS)
    if name == "nemotron_h_moe":  # llama.cpp does not save moe_latent_size
        return
    tally.check(numpy.array_equal(ours(save(path, f"{folder}/{name}-saved.gguf"), ids), found),
                f"{name} as llama.cpp saves it", "expected the same bits")


def check_quantised(tally, source, type_name, rounded):
    """Compare a file that llama.cpp quantises from `source`."""
    ids, path = some_ids(WORDS), source.replace(".gguf", f"-{type_name}.gguf")
    quantise(source, path, type_name)
    found, own, exact = ours(path, ids), theirs(path, ids), theirs(widen(path), ids)
    name = os.path.basename(path)
    tally.near(f"{name} as it is", found, own, SUMS + rounded + ROUNDED.get(type_name, QUANTISED))
    tally.near(f"{name} in F32", found, exact, SUMS + rounded)
    return path, ids, exact


def check_blocks(tally, source, type_name):
    """Also check that the file has blocks of the type, and that a changed byte changes logits."""
    path, ids, exact = check_quantised(tally, source, type_name, 0)
    name = os.path.basename(path)
    tally.check(f" {type_name} " in attn("info", path), f"type of {name}", f"no {type_name}")
    with open(path, "r+b") as file:
        file.seek(-48, os.SEEK_END)
        (byte,) = file.read(1)
        file.seek(-48, os.SEEK_END)
        file.write(bytes([byte ^ 0x20]))
    tally.far(f"{name} with a byte changed", ours(path, ids), exact, SUMS)


def ids_of(folder, texts, *options):
    lines = attn("tokenize", "-m", folder, "--only-ids", *options, *("-s" + text for text in texts))
    return [[int(id) for id in line.split()] for line in lines.splitlines()]


def their_ids(path, texts):
    llama = Llama(path)
    ids, first = llama.ids(texts)
    llama.close()
    return [([] if first is None else [first]) + found for found in ids]


def with_first(name, folder, first):
    """A copy of the frozen file with another bos_token_id."""
    key = b"tokenizer.ggml.bos_token_id" + struct.pack("<I", 4)
    with open(f"tests/references/gguf/{name}.gguf", "rb") as file:
        before, after = file.read().split(key)
    with open(f"{folder}/{name}.gguf", "wb") as file:
        file.write(before + key + struct.pack("<I", first) + after[4:])
    return file.name


def check_ids(tally, path, texts, folder):
    name = os.path.basename(path)
    expected, found = ids_of(path, texts, "--special", "auto"), their_ids(path, texts)
    same = sum(a == b for a, b in zip(expected, found))
    tally.check(len(found) == same >= 60, f"{name}'s ids", f"{same} of {len(texts)} texts")
    if name == "qwen2-like.gguf":
        with open(path, "rb") as file:
            data = file.read()
        with open(f"{folder}/other.gguf", "wb") as file:
            file.write(data.replace(b"qwen2", b"gpt-2"))
        other = their_ids(f"{folder}/other.gguf", texts)
        tally.check(other != expected, f"{name} cut otherwise", "the same ids")


def check_splits(tally, pre, folder):
    path = write("tests/texts/tokenizers/splits", f"{folder}/{pre}.gguf", "F16", pre)
    texts = [*filter(composed, [*texts_of("splits")[:2], *texts_of("qwen2-like")])]
    expected = ids_of(path, texts, "--special", "none")
    llama = Llama(path)
    found, _ = llama.ids(texts)
    llama.close()
    tally.check(found == expected, f"{pre}'s ids", f"other ids for some of {len(texts)} texts")


def texts_of(name):
    with open(f"tests/texts/tokenizers/{name}/cases.jsonl", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def check_all(tally, folder):
    for model, (type_name, rounded) in MODELS.items():
        tally.attempt(check_model, model, folder, type_name, rounded)
    for name in CONVERTED:
        tally.attempt(check_converted, name, folder)
    tiny = write("models/tiny", f"{folder}/trained.gguf")
    for type_name in "Q4_0", "Q8_0":  # rows of tiny are too short for K types
        tally.attempt(check_quantised, tiny, type_name, GELU)
    attn("init", "--shape", "tiny-llama", "--set", WIDE_LLAMA, "--vocab", "models/tiny/vocab.json",
         "--merges", "models/tiny/merges.txt", "-o", f"{folder}/wide")
    wide = write(f"{folder}/wide", f"{folder}/wide.gguf")
    for type_name in [*FILE_TYPES][1:]:
        tally.attempt(check_blocks, wide, type_name)
    for name, (first, suits) in TOKENIZERS.items():
        texts = [*filter(suits, texts_of(name))]
        tally.attempt(check_ids, with_first(name, folder, first), texts, folder)
    for pre, name in PRES.items():
        path = write(f"tests/texts/tokenizers/{name}", f"{folder}/{pre}.gguf", "F16", pre)
        tally.attempt(check_ids, path, [*filter(composed, texts_of(name))], folder)
    for pre in SPLITS:
        tally.attempt(check_splits, pre, folder)
    tally.attempt(check_ids, tiny, texts_of("smollm2-like"), folder)


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        check_all(tally, folder)
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(tally.failed != 0)


main()
