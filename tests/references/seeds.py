"""Check every number that the five texts of data/guides/texts.md print.

    python3 tests/references/seeds.py BUILD [WORD...]     only entries whose name has the words

Each entry of seeds.json has a command, the numbers as printed, and where they are in its JSON: a
`site` with `head`, `rows` and `columns` counted from 0 (null: all), or a `pointer` (`*`: each
element; `a,b`: several members). `correct` are the right numbers where a text has a slip. `check`
compares the `shape` (texts, rows, columns) or the sum of each row (`rowsum`) instead. A number may
differ by half a unit of its last digit. `before`: commands to run first, in the same folder.

The guide and its translation must contain each number, and have the same commands and output.

Entries in TIMED depend on the machine: they are checked only if TIMED=1.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TIMED = {
    "001 time O(n^2 d): exponent of n",
    "001 time O(n^2 d): exponent of d",
}
HANG = int(os.environ.get("HANG", "600"))  # seconds, as in tally.sh
GUIDE_LINES = 260


class Failure(Exception):
    """Why an entry does not agree."""


def run(attn, arguments, results):
    """The JSON that a command prints, or None; results of equal commands are kept."""
    key = tuple(arguments)
    if key not in results:
        results[key] = subprocess.run([attn, *arguments], capture_output=True, check=False,
                                      stdin=subprocess.DEVNULL, timeout=HANG)
    done = results[key]
    if done.returncode:
        raise Failure(done.stderr.decode(errors="replace").strip())
    return json.loads(done.stdout) if done.stdout.startswith((b"{", b"[")) else None


def follow(document, parts):
    """The value at a pointer."""
    if not parts:
        return document
    if parts[0] == "*":
        return [follow(one, parts[1:]) for one in document]
    if "," in parts[0]:
        return [document[name] for name in parts[0].split(",")]
    inner = document[int(parts[0]) if isinstance(document, list) else parts[0]]
    return follow(inner, parts[1:])


def select(document, entry):
    """The numbers that an entry names."""
    if "pointer" in entry:
        return follow(document, entry["pointer"].strip("/").split("/"))
    found = document["tensors"][entry["site"]]
    if isinstance(found[0][0], list):
        found = found[entry["head"]]
    if entry["rows"] is not None:
        found = [found[row] for row in entry["rows"]]
    if entry.get("columns") is not None:
        found = [[row[column] for column in entry["columns"]] for row in found]
    return found


def shape_of(value):
    return [len(value)] + shape_of(value[0]) if isinstance(value, list) else []


def flat(value):
    return [one for part in value for one in flat(part)] if isinstance(value, list) else [value]


def is_same(wanted, found, digits):
    if isinstance(wanted, str) and wanted != "-inf":
        return wanted == found
    one, other = (float("-inf") if x is None else float(x) for x in (wanted, found))
    return one == other or abs(one - other) <= 0.5 * 10.0**-digits + 1e-6


def check(attn, entry, results):
    """Raise a failure unless all numbers of an entry agree."""
    for arguments in entry.get("before", []):
        run(attn, arguments, results)
    document = run(attn, entry["command"], results)
    several = isinstance(document, list)
    found = select(document[0] if several else document, entry)
    wanted = entry.get("correct", entry["numbers"])
    if entry.get("check") == "shape":
        single = len(entry["rows"] or []) == 1
        found = [len(document)] * several + shape_of(found[0] if single else found)
    elif entry.get("check") == "rowsum":
        wanted = [round(sum(row), entry["digits"]) for row in wanted]
        found = [sum(x or 0 for x in row) for row in found]
    wanted, found = flat(wanted), flat(found)
    if len(wanted) != len(found):
        raise Failure(f"expected {len(wanted)} numbers, found {len(found)}")
    for at, (one, other) in enumerate(zip(wanted, found)):
        if not is_same(one, other, entry["digits"]):
            raise Failure(f"number {at}: expected {one}, found {other}")
    return len(wanted)


def check_guides(entries):
    """Yield what the guide or its translation lacks."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/guides")
    shown = []
    for name in ["texts.md", "texts.zh.md"]:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        lines = text.count("\n")
        if lines > GUIDE_LINES:
            yield f"{name}: expected at most {GUIDE_LINES} lines, found {lines}"
        shown.append(re.findall(r"```console\n.*?```|`attn-cli [^`]*`", text, re.S))
        found = re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-"))
        numbers = {float(number) for number in found}
        for entry in entries:
            if not entry.get("printed", True):
                continue
            for number in flat([entry["numbers"], entry.get("correct", [])]):
                if not isinstance(number, str) and float(number) not in numbers:
                    yield f"{name}: there is no {number} of {entry['seed']} {entry['what']}"
                    break
    if shown[0] != shown[1]:
        yield "texts.zh.md: its commands or output differ from those of texts.md"


def main():
    attn = os.path.abspath(os.path.join(sys.argv[1], "attn-cli"))
    with open(os.path.join(os.path.dirname(__file__), "seeds.json"), encoding="utf-8") as file:
        entries = json.load(file)
    names = [f"{entry['seed']} {entry['what']}" for entry in entries]
    unknown = TIMED - set(names)
    passed = failed = skipped = numbers = 0
    results = {}
    for name in sorted(unknown):
        print(f"failed: {name}: no entry has this name")
        failed += 1
    for why in check_guides(entries):
        print(f"failed: {why}")
        failed += 1
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, entry in zip(names, entries):
            if not all(word in name for word in sys.argv[2:]):
                continue
            if name in TIMED and "TIMED" not in os.environ:
                skipped += 1
                continue
            try:
                numbers += check(attn, entry, results)
                passed += 1
            except (Failure, KeyError, IndexError, TypeError, subprocess.TimeoutExpired) as error:
                print(f"failed: {name}: {type(error).__name__}: {error}")
                failed += 1
    print(f"{numbers} numbers of the texts agree")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
