"""Read the result of a command from every data format, with pandas and numpy, and compare numbers, names and missing
values with its JSON. `compare` leaves the files in a folder for results.R.
"""
import json
import math
import re
import struct
import subprocess

import numpy
import pandas

# Columns that each run measures again.
VARYING = re.compile(r"second|bytes|limit|of_|exponent|rate")


def same(found, expected):
    """True if a cell of CSV equals a value of JSON, where null is missing or not finite."""
    if expected is None:
        return found in ("", "nan", "inf", "-inf")
    if isinstance(expected, str):
        return found == expected
    return found != "" and numpy.float32(found) == numpy.float32(expected)


def matrices(document):
    """(name, matrix) of each sheet, in order."""
    for name, tensor in document["tensors"].items():
        array = numpy.array(tensor, dtype=float)  # null: NaN
        yield from ((name, matrix) for matrix in ([array] if array.ndim == 2 else array))


def equal(a, b):
    """True if numbers of two files are equal; null in one may be a number that is not finite in the other."""
    a, b = numpy.asarray(a, dtype=numpy.float32), numpy.asarray(b, dtype=numpy.float32)
    return a.shape == b.shape and bool(((a == b) | ~(numpy.isfinite(a) | numpy.isfinite(b))).all())


def check_csv(path, documents):
    frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
    if "tables" not in documents[0]:
        numbers = [row[-len(matrix[0]):] for document in documents for _, matrix in matrices(document)
                   for row in matrix]
        cells = frame.replace("", "nan").values[:, -len(numbers[0]):].astype(float)
        yield from [] if equal(cells, numbers) else ["matrices differ"]
        return
    name = next(iter(documents[0]["tables"]))
    rows = [row for document in documents for row in document["tables"][name]]
    columns = list(rows[0]) if rows else list(frame.columns)
    if list(frame.columns[-len(columns):]) != columns or len(frame) != len(rows):
        yield f"expected {len(rows)} rows of {columns}, found {len(frame)} of {list(frame.columns)}"
        return
    for index, row in enumerate(rows):
        for column in columns:
            if not VARYING.search(column) and not same(frame[column][index], row[column]):
                yield f"row {index}, {column}: expected {row[column]!r}, found {frame[column][index]!r}"


def check_tidy_tables(frame, documents):
    for line in frame.to_dict("records"):
        document = documents[int(line.get("sentence", 0)) if len(documents) > 1 else 0]
        rows = document["tables"][line["tensor"]]
        number = (lambda index: rows[index]["position"]) if "position" in rows[0] else lambda index: index
        found = [row for index, row in enumerate(rows) if number(index) == int(line["row"]) and
                 all(same(line[key], row[key]) for key in ("layer", "head") if key in row)]
        if not any(VARYING.search(line["column_token"]) or same(line["value"], row[line["column_token"]])
                   for row in found):
            yield f"a line that is not in JSON: {line}"


def check_tidy(path, documents):
    frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
    if "tables" in documents[0]:
        yield from check_tidy_tables(frame, documents)
        return
    of_sheet = ["layer", "head", "kv_head"]
    if "axes" in documents[0]:  # heads are an axis, and layers unless tensors are named by them
        of_sheet = ["layer"] if next(iter(documents[0]["tensors"])).startswith("h.") else []
    keys = [key for key in ("model", "sentence", "tensor", *of_sheet) if key in frame]
    groups = [group for _, group in frame.groupby(keys, sort=False)]
    expected = [matrix for document in documents for _, matrix in matrices(document)]
    if "model" in frame and len(set(frame.model)) < len(documents):
        return  # one model given twice
    if len(groups) != len(expected):
        yield f"expected {len(expected)} matrices, found {len(groups)}"
        return
    for group, matrix in zip(groups, expected):
        rows, columns = (group[key].astype(int) - group[key].astype(int).min() for key in ("row", "column"))
        if not equal(group.value.replace("", "nan").astype(float), matrix[rows, columns]):
            yield f"{group.tensor.iloc[0]}: numbers differ from JSON"
        hidden = numpy.ones(matrix.shape, bool)
        hidden[rows, columns] = False
        if numpy.nan_to_num(matrix[hidden]).any():
            yield f"{group.tensor.iloc[0]}: a visible number is missing"


def read_tensors(path):
    """The result without its tensors, and arrays by name."""
    if path.endswith(".npz"):
        arrays = dict(numpy.load(path))
        return json.loads(arrays.pop("result").item()), arrays
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    return json.loads(metadata["result"]), {name: numpy.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], "<f4")
                      .reshape(entry["shape"]) for name, entry in header.items()}


def check_tensors(path, documents, valid):
    document = documents[0]
    head, arrays = read_tensors(path)
    yield from (f"metadata: {error.message[:200]}" for error in valid.iter_errors({**head, "tensors": {}}))
    for key in set(head) & set(document) - {"provenance", "facts", "axes"}:
        if head[key] != document[key]:
            yield f"metadata: another {key}"
    if "tensors" in document:
        expected = {name: numpy.array(tensor, dtype=float) for name, tensor in document["tensors"].items()}
        if list(arrays) != list(expected) or not all(equal(arrays[name], expected[name]) for name in arrays):
            yield "arrays differ"
        return
    for name, array in arrays.items():
        labels = [axis["labels"] for axis in head["axes"][name]]
        rows = document["tables"].get(name)
        if array.shape != tuple(map(len, labels)):
            yield f"{name}: {array.shape} numbers, {tuple(map(len, labels))} labels"
        elif rows and set(labels[1]) <= set(rows[0]) and not any(map(VARYING.search, labels[1])):
            if not equal(array, [[math.nan if row[key] is None else row[key] for key in labels[1]] for row in rows]):
                yield f"{name}: numbers differ from JSON"


def check_npy(path, arrays):
    array = numpy.load(path)
    if array.dtype != numpy.float32 or not array.flags["C_CONTIGUOUS"]:
        yield "expected a float32 array in C order"
    elif len(arrays) == 1 and not equal(array, next(iter(arrays.values()))):
        yield "numbers differ from safetensors"


def compare(attn, words, documents, valid, stem):
    """Yield the errors in the data files of a command line, whose JSON is `documents`."""
    with open(f"{stem}.json", "w", encoding="utf-8") as file:
        json.dump(documents, file)
    arrays, timed = {}, words[0] == "bench"
    for form, ending in (("csv", "csv"), ("tidy", "tidy.csv"), ("safetensors", "safetensors"), ("npy", "npy"), ("npz", "npz")):
        path = f"{stem}.{ending}"
        done = subprocess.run([attn, *words, "--format", form, "-o", path], capture_output=True, text=True, check=False)
        if done.returncode == 2:  # several matrices or texts; the format has one
            continue
        if done.returncode:
            yield f"{form}: {done.stderr}"
            continue
        if form == "safetensors":
            arrays = {} if timed else read_tensors(path)[1]
        wrong = {"csv": lambda: check_csv(path, documents), "tidy": lambda: check_tidy(path, documents),
                 "safetensors": lambda: check_tensors(path, documents, valid),
                 "npz": lambda: check_tensors(path, documents, valid),
                 "npy": lambda: check_npy(path, arrays)}[form]()
        yield from (f"{form}: {what}" for what in list(wrong)[:3])
