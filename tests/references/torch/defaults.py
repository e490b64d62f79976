#!/usr/bin/env python3
"""Compare what configs mean without one of their keys with transformers.

usage: defaults.py BUILD/attn-cli [MODEL...]            (default: all of golden-families)

Each key of a model's config.json is removed in turn, also keys of objects in it. transformers makes
a model from the rest, with random weights and its own default of the key, and saves it; the program
must compute the same logits from that file and this config, or refuse the key by its name. Where
transformers fails with the small sizes, others are tried. Prints each difference, and how many
configs agree; a model takes seconds to a minute. Needs transformers and torch.
"""
import copy, json, pathlib, shutil, sys, tempfile

from peer import ids_of, off, results
import torch, transformers

transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)

FOLDER = pathlib.Path(__file__).parent.parent / "golden-families"
WIDTHS = "hidden_size", "d_model", "n_embd", "dim", "n_embed"
HEADS = "num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"
LIMIT = 1e-4  # defaults are large: sums of thousands of numbers in float32

# What a model cannot be without, is refused by its name, or says nothing about numbers.
SKIP = {"model_type", "architectures", "dtype", "torch_dtype", "transformers_version", "text_config",
        "vision_config", "audio_config", "vocab_size", "num_hidden_layers", "n_layer", "n_layers",
        "id2label", "label2id", "auto_map", "initializer_range", "init_std", "pad_token_id",
        *WIDTHS, *HEADS}


def paths(config, before=()):
    """The keys of an object and of those in it."""
    for key, value in config.items():
        if key not in SKIP:
            yield before + (key,)
        if isinstance(value, dict) and key not in ("id2label", "label2id", "vision_config"):
            yield from paths(value, before + (key,))


def without(config, path):
    config = copy.deepcopy(config)
    place = config
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return config


def sizes(config):
    """The config, and with other widths and heads, which fit defaults of other sizes."""
    yield config
    for heads, width in (None, 8), (40, 2), (40, 8), (8, 8):
        other = copy.deepcopy(config)
        text = other.get("text_config", other)
        names = [next((name for name in names if name in text), None) for names in (HEADS, WIDTHS)]
        if None in names:
            return
        text[names[0]] = heads or text[names[0]]
        text[names[1]] = width * text[names[0]]
        yield other


def theirs(config, notes, folder):
    """Logits of a model that transformers makes and saves; None: they are not of words."""
    kind = getattr(transformers, config["architectures"][0])
    made = kind.config_class.from_dict(copy.deepcopy(config))
    made._attn_implementation = "sdpa" if config["model_type"] == "falcon" else "eager"
    for part in made, made.get_text_config():
        for key in "initializer_range", "init_std":
            if hasattr(part, key):
                setattr(part, key, 0.3)
    torch.manual_seed(0)
    model = kind(made).eval()
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor) * 0.2)
    model.save_pretrained(folder)
    for path in pathlib.Path(folder).glob("*config.json"):
        path.unlink()
    pathlib.Path(folder, "config.json").write_text(json.dumps(config))
    dtype = torch.float32 if config["model_type"] == "xglm" else torch.float64
    model = kind.from_pretrained(folder, dtype=dtype, experts_implementation="eager",
                                 attn_implementation=made._attn_implementation).eval()
    given = {"input_ids": torch.tensor([notes["ids"]])}
    if notes.get("source_ids"):
        given = {"input_ids": torch.tensor([notes["source_ids"]]),
                 "decoder_input_ids": given["input_ids"]}
    with torch.no_grad():
        out = model(**given)
    logits = out.logits if "logits" in out else None
    return None if logits is None or logits.dim() < 3 else logits[0].double()


def check(program, config, path, notes):
    """What is wrong without the key; "": nothing, None: transformers makes no such model."""
    for tried in sizes(without(config, path)):
        folder = tempfile.mkdtemp()
        try:
            try:
                wanted = theirs(tried, notes, folder)
            except Exception:
                continue
            if wanted is None:
                return None
            source = ["--source", ids_of(notes["source_ids"])] if notes.get("source_ids") else []
            line = ["run", "-q", "-m", folder, "--ids", ids_of(notes["ids"]), *source, "--show",
                    "logits", "--special", "none"]
            found = results(program, *line)[0]["tensors"]["logits"]
            error = off(found, wanted)
            return "" if error < LIMIT else f"{error:.1e}"
        except RuntimeError as refusal:
            return "" if path[-1] in str(refusal) else str(refusal)[-200:]
        finally:
            shutil.rmtree(folder)
    return None


def main():
    agree = 0
    for name in sys.argv[2:] or sorted(path.name for path in FOLDER.iterdir()):
        config = json.loads((FOLDER / name / "config.json").read_text())
        data = (FOLDER / name / "expected.safetensors").read_bytes()
        notes = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        notes = {key: json.loads(value) for key, value in notes.items()}
        if not hasattr(transformers, (config.get("architectures") or ["?"])[0]):
            continue
        for path in paths(config):
            wrong = check(sys.argv[1], config, path, notes)
            agree += wrong == ""
            if wrong:
                print(f"{name} without {'.'.join(path)}: {wrong}", flush=True)
    print(agree, "configs agree")


if __name__ == "__main__":
    main()
