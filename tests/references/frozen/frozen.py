#!/usr/bin/env python3
"""Record the values that the program prints, or check that they are still the same.

    python3 tests/references/frozen/frozen.py check  BUILD    compare with tests/references/frozen/values.txt
    python3 tests/references/frozen/frozen.py record BUILD    write that file again

cases.txt has the command lines; intended.txt lists intended differences, each with its reason. A
case is one command line for one model. Its output, in any format, is read as sheets of numbers. A
sheet of at most SMALL numbers is stored in hexadecimal, a larger one as the SHA-256 of its float32
bytes. A new output format needs a new reader here.
"""
import csv
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
VALUES = os.path.join(HERE, "values.txt")
SMALL = 4
MODELS = {
    "families": ["tests/references/golden-families", "tests/references/golden"],
    "bundled": ["life", "life-causal", "life-4-heads", "life-grouped", "journey", "tiny"],
}


def models(name):
    """The models of a case: folders of reference models, or one name."""
    found = []
    for entry in MODELS.get(name, [name] if name != "-" else [None]):
        folder = os.path.join(ROOT, entry or "")
        if entry and entry.startswith("tests/references/golden"):
            found += [f"{entry}/{model}" for model in sorted(os.listdir(folder))
                      if os.path.exists(f"{folder}/{model}/model.safetensors")]
        else:
            found.append(entry)
    return found


def options(model):
    """The model, and ids for the encoder of a decoder."""
    path = os.path.join(ROOT, model or "", "config.json")
    two = model and os.path.exists(path) and json.load(open(path)).get("is_encoder_decoder")
    return (["-m", model] if model else []) + (["--source", "3,1,4,2"] if two else [])


def cases():
    """(name, format, arguments) of every line of cases.txt, for each of its models."""
    for line in open(os.path.join(HERE, "cases.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            name, which, form, arguments = (part.strip() for part in line.split("|", 3))
            for model in models(which):
                suffix = "/" + os.path.basename(model) if which in MODELS else ""
                yield name + suffix, form, shlex.split(arguments) + options(model)


def number(text):
    """The float32 bits of a number; any other text unchanged."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    if value != value:
        return "nan"
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return value.hex()
    # The shortest decimals of a float32 identify it; other numbers keep all digits.
    return single.hex() if float(f"{single:.9g}") == value or f"{single:.8g}" == f"{value:.8g}" \
        else value.hex()


def read_safetensors(data):
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, entry["shape"], data[8 + size:][begin:end]


# Tables of score that were one sheet, "score", when the values were recorded, and a newer column.
SCORES, NEWER = ("scores", "continuations"), [("continuations", "perplexity")]


def read_tidy(text):
    """Sheets, by name, layer and head, of a table with a row for each number."""
    sheets = {}
    rows = csv.reader(text.splitlines())
    header = next(rows)
    leading = header.index("tensor")  # columns that identify the text, newer than the values
    assert header[leading + 1:leading + 3] == ["layer", "head"] and header[-1] == "value", header
    rows = [row[leading:] for row in rows]
    rows = [[*row[:6], row[6].removesuffix("_nats"), *row[7:]] for row in rows]
    if all(row[6] != "rank" for row in rows):  # words had no entropy
        rows = [row for row in rows if row[0] != "scores" or not row[6].startswith("entropy")]
    if any(row[0] == "lens" for row in rows):  # its columns were sheets when values were recorded
        rows = [[{"probability": "best"}.get(row[6], row[6]), *row[1:]] for row in rows
                if row[0] == "lens" and not row[6].endswith("logprob")]
    for row in rows:
        if (row[0], row[6]) in NEWER:
            continue
        name = "score" if row[0] in SCORES else row[0]
        if name == "heads":  # a table: a score was a sheet when the values were recorded
            name = row[6].replace("_baseline", ".null")
        sheets.setdefault(".".join([name] + row[1:3]), []).append(row[-1] or "nan")
    for name, values in sheets.items():
        yield name, [len(values)], values


def as_recorded(document):
    """A result in the form of the recorded values: facts are members, tables have older names."""
    if isinstance(document, list):
        return [as_recorded(each) for each in document]
    if not isinstance(document, dict):
        return document
    document = {key.removesuffix("_nats"): value for key, value in document.items()}
    document.pop("provenance", None)
    document.update(document.pop("facts", {}))
    tables = document.get("tables", {})
    if "prompt_tokens" in document:  # of generate
        return {key: document[key] for key in document if key != "tables"}
    rows = tables.get("ways")
    if rows:
        ways = [row for row in rows if row["layer"] is None]
        heads = [row for row in rows if row["layer"] is not None]
        for row in ways + heads:
            del row["attention"]
        return {"texts": document["texts"], "tokens": document["longest"], "rounds": 5,
                "ways": [{key: row[key] for key in row if key not in ("layer", "head")} for row in ways]
                        + [{"heads": heads}]}
    rows = tables.get("distances")
    if rows:
        heads = [row for row in rows if row["head"] is not None]
        sites = [row for row in rows if row["head"] is None]
        names = ["layer", "head", "distance", "match", "matched_distance"]
        return {"texts": document["texts"], "heads": [{key: row[key] for key in names} for row in heads],
                "sites": [{key: row[key] for key in ("layer", "distance", "masked_in_one")} for row in sites]}
    rows = tables.get("totals")
    if rows:
        names = {"tokens": "tokens", "logprob": "logprob_nats", "surprisal": "surprisal_nats",
                 "perplexity": "perplexity"}
        return {"sentence": None, "texts": [{key: row[name] for key, name in names.items()} for row in rows]}
    return document


def read_json(text):
    """Sheets of a JSON document, or of one per line: all numbers under the same names."""
    sheets = {}

    def walk(value, path):
        if isinstance(value, dict):
            for key, entry in value.items():
                walk(entry, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for entry in value:
                walk(entry, path)
        elif not isinstance(value, (bool, str)):
            sheets.setdefault(path, []).append("nan" if value is None else value)

    try:
        walk(as_recorded(json.loads(text)), "")
    except json.JSONDecodeError:
        for line in text.splitlines():
            walk(as_recorded(json.loads(line)), "")
    for name, values in sheets.items():
        if not re.search(r"version|seconds|(^|\.)(bytes|threads)|^(job|item)$", name):
            yield name, [len(values)], values


def reader(form, output):
    """(sheet, shape, values) of the output of a command; values are float32 bytes or a list."""
    if form == "safetensors":
        return read_safetensors(output)
    text = output.decode("utf-8")
    return read_tidy(text) if form == "tidy" else read_json(text)


def lines_of(form, output):
    if form == "exact":  # the text itself, in bytes
        output = re.sub(rb'"attn-cli/result/2", "command": "run"(.*)\n "provenance": .*', rb'"attn-cli/run/1"\1', output)
        yield f"text {len(output)} {hashlib.sha256(output).hexdigest()[:16]}"
        return
    for name, shape, values in reader(form, output):
        name = json.dumps(name, ensure_ascii=False).replace(" ", "\\u0020")
        size = "x".join(str(n) for n in shape) or "1"
        if isinstance(values, bytes):
            numbers = [number(v) for (v,) in struct.iter_unpack("<f", values)] \
                if len(values) <= 4 * SMALL else []
        else:
            numbers = [number(v) for v in values]
            values = "\n".join(map(str, numbers)).encode()
        if len(numbers) > SMALL or not numbers:
            numbers = ["sha256:" + hashlib.sha256(values).hexdigest()[:16]]
        yield f"{name} {size} {' '.join(map(str, numbers))}"


def run(build, name, form, arguments):
    """The lines of a case: its exit status if not 0, else its sheets."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.abspath(os.path.join(build, "attn-cli"))] + arguments
        output = os.path.join(folder, "output.safetensors")
        if form == "safetensors":
            command += ["-o", output]
        elif form != "exact":
            command += ["--format", form]
        # One instruction set, because sums in another order differ in their last bits.
        environment = dict(os.environ, LIBXSMM_TARGET="hsw", LC_ALL="C.UTF-8")
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            return [f"status {done.returncode}"]
        if os.path.isdir(output):  # of init and train
            output += "/model.safetensors"
        data = open(output, "rb").read() if form == "safetensors" else done.stdout
        return list(lines_of(form, data))


def intended():
    """Patterns of cases and sheets whose values were changed intentionally."""
    found = []
    for line in open(os.path.join(HERE, "intended.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            found.append(re.compile(line.split("|")[0].strip()))
    return found


def recorded():
    values, case = {}, None
    for line in open(VALUES, encoding="utf-8"):
        if line.startswith("\t"):
            values[case].append(line[1:].rstrip("\n"))
        else:
            case = line.rstrip("\n")
            values[case] = []
    return values


def record(build):
    with open(VALUES, "w", encoding="utf-8") as file:
        count = 0
        for name, form, arguments in cases():
            lines = run(build, name, form, arguments)
            file.write("".join([name + "\n"] + ["\t" + line + "\n" for line in lines]))
            count += 1
    print(f"{count} cases recorded")


def check(build):
    values, exempt, passed, failed = recorded(), intended(), 0, 0
    for name, form, arguments in cases():
        before, now = values.pop(name, None), run(build, name, form, arguments)
        if before == now:
            passed += 1
            continue
        old = dict(line.split(" ", 1) for line in before or ["(nothing) recorded"])
        new = dict(line.split(" ", 1) for line in now)
        sheets = [s for s in {**old, **new} if old.get(s) != new.get(s)
                  and not any(p.fullmatch(f"{name} {s}") for p in exempt)]
        if not sheets:
            passed += 1
            continue
        failed += 1
        print(f"failed: {name}: {len(sheets)} of {len(old)} sheets differ")
        for sheet in sheets[:3]:
            print(f"    {sheet}: expected {old.get(sheet)}, found {new.get(sheet)}")
    for name in values:
        failed += 1
        print(f"failed: {name}: recorded, but not in cases.txt")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "record"):
        sys.exit(__doc__)
    sys.exit((record if sys.argv[1] == "record" else check)(sys.argv[2]))
