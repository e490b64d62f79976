"""Check every kind of JSON that the program writes against data/schemas: it is valid; it is invalid without a member
that all outputs have, or with an unknown member; every member of a schema is in some output; every kind has a schema.
Results are also written in all data formats, which must have the same values (results.py).

    /usr/bin/python3 -W ignore tests/readers/schemas.py ATTN-CLI    with python3-jsonschema; prints errors
"""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema

try:
    import referencing
except ImportError:
    referencing = None
try:
    import results
except ImportError:  # pandas or numpy
    results = None

ATTN = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMAS = ROOT / "data" / "schemas"
TEXT = "Life is short"
CAPPED = str(ROOT / "tests/references/golden-families/gemma2")
TINY = str(ROOT / "models/tiny")  # -m refuses the same name twice
LLAMA = str(ROOT / "tests/references/golden-families/llama")  # without a vocabulary
ITEMS = """{"id": "a", "text": "Life is short", "side": "left"}
{"id": "b", "text": "", "side": 2, "sure": true}
{"id": "c", "sentence": "Life is"}
{"id": "d", "sentence": ""}
"""

# Arguments, and the file that the command writes (None: standard output).
LINES = [
    (["run", TEXT], None),
    (["run", TEXT, "-s", "eat", "--words", "--mean", "heads,layers", "--precision", "bf16"], None),
    (["run", TEXT, "--hide-first", "--head", "0,2", "--attention", "window:2"], None),
    (["run", TEXT, "-s", "eat", "--mean", "heads,texts"], None),
    (["run", "-m", "life-cross", "Life is", "--source", "the cat", "--words"], None),
    (["run", TEXT, "-s", "eat", "--pool", "mean", "--stack", "--format", "npy", "-o", "mean.npy"],
     "mean.jsonl"),
    (["run", TEXT, "--show", "q", "--layer", "0", "--query", "-1", "--stack", "--format", "npy", "-o", "q.npy"],
     "q.jsonl"),
    (["batch", TEXT, "--show", "q", "--layer", "0", "--query", "-1", "--stack", "--format", "npy", "-o", "row",
      "--shard", "1/1"], "row.1-of-1.part"),
    (["batch", TEXT, "--pool", "max", "--stack", "--format", "npy", "-o", "max.npy", "--shard", "1/1"],
     "max.npy.1-of-1.part"),
    (["run", "-m", "translate", "-s", "<s> le", "--source", "the cat", "--mean", "layers"], None),
    (["run", TEXT, "--format", "csv", "-o", "folder/"], "folder/manifest.json"),
    (["run", "-m", "life-grouped", TEXT, "--head", "1-3", "--show", "q,k"], None),
    (["run", "-m", "life-grouped", TEXT, "--show", "q,v", "--format", "npy", "-o", "kv/"], "kv/manifest.json"),
    (["run", "--ids", "365,1", "--head", "1", "--format", "npy", "-o", "ids/"], "ids/manifest.json"),
    (["run", TEXT, "-s", "eat", "--mean", "layers", "--format", "npy", "-o", "two/"], "two/0001/manifest.json"),
    (["score", "-f", "items.jsonl", "--words", "--per", "side", "-o", "words/"], "words/manifest.json"),
    (["generate", TEXT, "-n", "1"], None),
    (["generate", TEXT, "-n", "2", "--logprobs"], None),
    (["generate", TEXT, "-n", "2", "--show", "weights"], None),
    (["tokenize", TEXT], None),
    (["tokenize", "我"], None),
    (["info", "life"], None),
    (["info", "tiny", "--hash"], None),
    (["info", "golden/gpt2-micro"], None),
    (["info", str(ROOT / "tests/texts/tokenizers/llama-2-like")], None),
    (["score", TEXT], None),
    (["score", TEXT, "--words"], None),
    (["score", TEXT, "-s", "eat", "--mean", "texts"], None),
    (["lens", TEXT, "-s", "eat", "--mean", "texts,layers"], None),
    (["attribute", TEXT, "-s", "eat is", "--mean", "texts"], None),
    (["heads", "--mean", "heads"], None),
    (["run", TEXT, "--query", "@is", "--key", "@Life", "--mean", "regions"], None),
    (["run", TEXT, "--head", "1.2,0.3"], None),
    (["score", TEXT, "--top", "0", "--bits"], None),
    (["score", "-m", "translate", "<s> le", "--source", "the cat", "--edit", "v * 1"], None),
    (["score", "-m", "tiny", "-m", TINY, TEXT], None),
    (["score", TEXT, "-s", "eat", "--total", "--bits"], None),
    (["score", "The keys", "--continue", " are", "--continue", " is"], None),
    (["score", "-m", LLAMA, "--ids", "1,2"], None),
    (["lens", "-m", LLAMA, "--ids", "1,2"], None),
    (["lens", TEXT, "--target", " are"], None),
    (["lens", "-m", "tiny", "-m", TINY, TEXT], None),
    (["attribute", TEXT], None),
    (["attribute", TEXT, "--answer", " eat: and", "--by", "source"], None),
    (["attribute", "-m", CAPPED, "--ids", "3,7,1"], None),
    (["patch", "--clean", "The keys", "--corrupt", "The key", "--over", "resid_pre"], None),
    (["patch", "-m", CAPPED, "--ids", "--clean", "3,7,1", "--corrupt", "3,8,1"], None),
    (["patch", "--clean", "The keys", "--corrupt", "The key", "--joint", "0.1,1.3"], None),
    (["examples", TEXT, "--channel", "0"], None),
    (["features", "--sae", "demo", TEXT], None),
    (["atlas", TEXT, "-s", "eat", "--format", "atlas", "-o", "atlas/"], "atlas/atlas.json"),
    (["atlas", TEXT, "--format", "atlas", "-o", "one/"], "one/examples.jsonl"),
    (["atlas", "-f", "corpus.csv", "--format", "atlas", "-o", "corpus/"], "corpus/examples.jsonl"),
    (["heads", "--score", "induction,entropy"], None),
    (["heads", TEXT, "-m", "tiny", "-m", TINY], None),
    (["heads", "-m", "tiny", "-m", TINY, "--map", "induction"], None),
    (["heads", "--score", "entropy", "--format", "jsonl"], None),
    (["heads", "--composition", "k"], None),
    (["explain", TEXT], None),
    (["explain", TEXT, "--token", "all"], None),
    (["explain", "-m", "translate", "<s> le", "--source", "the cat", "--part", "cross"], None),
    (["compare", TEXT, "--attention", "linear,window:2"], None),
    (["compare", "tiny", "tiny", TEXT], None),
    (["again", "values.svg"], None),
    (["bench", "--tokens", "6", "--repeat", "1", "--precision", "bf16"], None),
    (["bench", "--growth", "--attention", "dense,linear", "--tokens", "6,12", "--repeat", "1"], None),
    (["compare", "tiny", "tiny", TEXT, "--format", "csv", "-o", "compared/"], "compared/manifest.json"),
    (["bench", "--shape", "tiny", "--tokens", "6", "--repeat", "1", "--format", "csv", "-o", "bench/"],
     "bench/manifest.json"),
    (["batch", "items.jsonl", "--sweep", "head=0,1", "--repeat", "2", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--do", "score", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--do", "lens", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--do", "attribute", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--do", "generate", "--logprobs", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--do", "heads", "--format", "jsonl"], None),
    (["batch", "items.jsonl", "--format", "npy", "-o", "items/"], "items/items.jsonl"),
    (["batch", "items.jsonl", "--format", "tidy", "-o", "lines", "--shard", "1/1"], "lines.1-of-1.part"),
    (["batch", "items.jsonl", "--format", "tidy", "-o", "lines", "--shard", "2/2"], "lines.2-of-2.batch"),
    (["batch", "plain.txt", "--format", "jsonl"], None),
    (["batch", "plain.txt", "--format", "tidy", "-o", "plain", "--shard", "1/1"], "plain.1-of-1.part"),
    (["batch", "pairs.csv", "--format", "jsonl", "-m", "life-cross", "--precision", "bf16"], None),
]

# Paths of objects whose members have arbitrary names.
MAPS = re.compile(r"\.(tensors|axes|tables|units|facts|given|columns|total|values|settings|config)$")


def documents():
    """Yield the arguments and each JSON object that the commands print or write."""
    pathlib.Path("items.jsonl").write_text(ITEMS)
    pathlib.Path("plain.txt").write_bytes(b"Life is\n\xff\n")
    pathlib.Path("corpus.csv").write_text("text,side\nLife is short,left\n")
    pathlib.Path("pairs.csv").write_text("sentence,source\nLife is,the cat\n")
    pathlib.Path("results").mkdir(exist_ok=True)
    subprocess.run([ATTN, "run", TEXT, "--show", "v", "--layer", "0", "-o", "values.npy"], check=True)
    subprocess.run([ATTN, "run", TEXT, "--layer", "0", "-o", "values.svg"], check=True)
    for words, path in LINES:
        form = [] if "--format" in words else ["--format", "json"]
        done = subprocess.run([ATTN, *words, *form], capture_output=True, text=True, check=False)
        if done.returncode > 1:
            yield words, {"format": done.stderr}
            continue
        text = pathlib.Path(path).read_text() if path else done.stdout
        is_lines = "jsonl" in words and not path
        found = [json.loads(line) for line in text.splitlines()] if is_lines else concatenated(text)
        found = [document for document in found if path is None or not path.endswith(".batch") or "format" in document]
        found = [each for document in found for each in (document if isinstance(document, list) else [document])]
        # CSV of several models has a column for each.
        several = words.count("-m") > 1 and words[0] == "score"
        if results and form and not several and found[0].get("format") == "attn-cli/result/2":
            stem = f"results/{len(os.listdir('results')):03}"
            for wrong in results.compare(ATTN, words, found, validator("result"), stem):
                print(f"{' '.join(words)}: {wrong}")
        yield from ((words, each) for each in found)


def concatenated(text):
    """Parse JSON objects one after another."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def objects(value, path=""):
    """Yield all objects in a document with their paths: .tokens[]"""
    if isinstance(value, dict):
        yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        path = path.removeprefix(".explanations[]")  # several queries have the paths of one
        within = "{}" if isinstance(value, dict) and MAPS.search(path) else f".{key}"
        yield from objects(member, path + ("[]" if isinstance(value, list) else within))


def validator(name):
    path = SCHEMAS / f"{name}.json"
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    if not referencing:  # before jsonschema 4.18
        resolver = jsonschema.RefResolver(path.as_uri(), schema)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)
    common = json.loads((SCHEMAS / "common.json").read_text())
    resource = referencing.Resource.from_contents(common)
    registry = referencing.Registry().with_resource("common.json", resource)
    return jsonschema.Draft202012Validator(schema, registry=registry)


def check_strict(name, valid, found):
    """An object without a member that all outputs have, or with an unknown member, must be invalid."""
    common, seen = {}, set()
    for document in found:
        for path, each in objects(document):
            common[path] = common.get(path, set(each)) & set(each)
    for document in found:
        changed = copy.deepcopy(document)
        for path, each in objects(changed):
            if MAPS.search(path) or "{}" in path:
                continue
            for key in sorted(common[path]):
                if (path, key) in seen:
                    continue
                seen.add((path, key))
                member = each.pop(key)
                if valid.is_valid(changed):
                    print(f"{name}: valid without {path}.{key}")
                each[key] = member
            each["strange"] = 1
            if (path, "") not in seen and valid.is_valid(changed):
                print(f"{name}: valid with an unknown member in {path or 'the document'}")
            seen.add((path, ""))
            del each["strange"]


def main():
    os.environ["ATTN_MODEL_PATH"] = str(ROOT / "tests/references")
    by_name = {}
    for words, document in documents():
        match = re.fullmatch("attn-cli/([a-z-]+)/[0-9]", document.get("format", ""))
        if match:
            by_name.setdefault(match[1], []).append((words, document))
        else:
            print(" ".join(words) + ": " + str(document.get("format")))
    for name, found in by_name.items():
        valid = validator(name)
        for words, document in found:
            for error in sorted(valid.iter_errors(document), key=str)[:1]:
                print(f"{' '.join(words)}: {name}: {error.json_path}: {error.message[:300]}")
        check_strict(name, valid, [document for words, document in found])
        named = set(valid.schema.get("properties", {})) - {key for words, each in found for key in each}
        if named:
            print(f"{name}: no output has {' '.join(sorted(named))}")
    sources = "".join(path.read_text() for room in ("cmd", "lib") for path in (ROOT / room).rglob("*.c"))
    written = {"result"} | set(re.findall(r'(?:JSON_FORMAT\("|"format", "attn-cli/)([a-z-]+)', sources))
    there = {path.stem for path in SCHEMAS.glob("*.json")} - {"common"}
    for name in sorted(written ^ there) + sorted(written - set(by_name)):
        print(f"{name}: expected a schema, a writer and an output")


main()
