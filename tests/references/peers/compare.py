"""Compare the speed of attn-cli and its peers on SmolLM2 135M and, as the part `hybrids`, on shapes of
models whose layers keep a state; prints the tables of README.md and data/guides/speed.md.

    python compare.py ATTN MODELS FOLDER      (run.sh makes MODELS and FOLDER)

A round measures every program once, one after the other, so that a slow second slows all of them.
A row has the median time of attn-cli and, for each peer, the median over rounds of the peer's time
divided by that of attn-cli in the same round; bold below 1, where the peer is faster. The float32
programs of a round are also the peers of the quantised file.
"""
import glob
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../real")
from sentences import WORDS, draw  # noqa: E402

ATTN, MODELS, FOLDER = map(os.path.abspath, sys.argv[1:])
ALL = len(os.sched_getaffinity(0))
MOST = int(os.environ.get("ROUNDS", 9))
PARTS = os.environ.get("PARTS") or " ".join(dict.fromkeys(("1", str(ALL), "process", "readme")))
LENGTHS = [int(n) for n in os.environ.get("LENGTHS", "1 2 6 12 24 64 256 1024").split()]
FIRST = 2, 6, 12
NAMES = {"prefill": "prefill of {:,} tokens", "first": "first prefill of {} tokens, not packed",
         "capture": "all attention of {:,} tokens", "decode": "one token after {}"}
PEERS = {"eager": "PyTorch eager", "sdpa": "PyTorch sdpa", "onnx": "ONNX Runtime",
         "llama": "llama.cpp"}
CAPTURE = "attn", "eager", "onnx"
TABLES = {"float32": ("attn f32", "eager f32", "sdpa f32", "onnx f32", "llama f32"),
          "Q4_1": ("attn Q4_1", "eager f32", "sdpa f32", "onnx f32", "llama Q4_1"),
          "bfloat16": ("bench bf16", "eager bf16", "sdpa bf16", "llama bf16"),
          "hybrids": ("attn f32", "eager f32", "llama bf16")}
HYBRIDS = {"granite-4.0-h-350m": "Granite 4 H 350M", "lfm2-350m": "LFM2 350M",
           "qwen3.5-0.8b": "Qwen 3.5 0.8B"}
HYBRID_ROWS = [("prefill", 6), ("prefill", 64), ("prefill", 512), ("decode", 64)]
README = [("float32", "prefill", 6), ("float32", "capture", 6), ("float32", "prefill", 1024),
          ("float32", "decode", 64), ("Q4_1", "prefill", 6), ("Q4_1", "decode", 64)]


class Worker:
    def __init__(self, program, threads, model):
        name, precision = program.split()
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads), "ATTN": ATTN, "PEERS": FOLDER,
            "PYTHONPATH": f"{HERE}/../../../lib/bindings/python",
            "LIBATTN": glob.glob(f"{os.path.dirname(ATTN)}/libattn.so.*")[0]}
        self.process = subprocess.Popen(
            [sys.executable, f"{HERE}/worker.py", name, MODELS, FOLDER, str(threads), precision,
             model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment)
        self.captures = name in CAPTURE

    def __call__(self, task, tokens):
        if task == "capture" and not self.captures:
            return None
        time.sleep(0.1)  # until the threads of the last program no longer spin
        print(json.dumps({"task": task, "tokens": tokens}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rounds_of(tokens):
    return min(MOST, 9 if tokens <= 24 else 5 if tokens <= 256 else 2)


def rows_of_lengths():
    return [(task, tokens) for task in ("prefill", "first", "capture") for tokens in LENGTHS
            if tokens in FIRST or task != "first"] + [("decode", 64)]


def compare_passes(threads, tables, rows, model="smollm2"):
    """Measure programs that keep their model loaded. An uncounted round packs weights and chooses
    kernels. Returns the seconds of every round by row and program."""
    workers = {name: Worker(name, threads, model)
               for name in dict.fromkeys(name for table in tables for name in TABLES[table])}
    found = {row: [] for row in rows}
    for worker in workers.values():
        for task in "prefill", "prefill", "capture", "decode", "decode":
            worker(task, 6)
    for number in range(MOST):
        for row in rows:
            if number < rounds_of(row[1]):
                found[row].append({name: worker(*row) for name, worker in workers.items()})
    for worker in workers.values():
        worker.close()
    return found


def cell(ratio):
    text = f"{ratio:.{2 if ratio < 2 else 1 if ratio < 100 else 0}f}"
    return f"**{text}**" if float(text) < 1 else text


def print_row(name, rounds):
    """Print a row; each round has the seconds of all programs, first those of attn-cli."""
    milliseconds = 1e3 * statistics.median(row[0] for row in rounds)
    cells = [f"{milliseconds:,.{int(milliseconds < 100)}f} ms"]
    for i in range(1, len(rounds[0])):
        known = [row[i] / row[0] for row in rounds if row[i]]
        cells.append(cell(statistics.median(known)) if known else "")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_head(what, names):
    print(f"\n| {' | '.join([what, 'attn-cli', *names])} |\n|---|{'--:|' * (len(names) + 1)}")


def print_passes(found, table, rows, what, title):
    """Print rows of a table. A first pass is compared with the usual passes of the peers."""
    ours, *peers = TABLES[table]
    if what:
        print_head(what, [PEERS[name.split()[0]] for name in peers])
    for task, tokens in rows:
        usual = found.get(("prefill" if task == "first" else task, tokens), [])
        if usual and found[task, tokens][0][ours]:
            name = NAMES[task].format(tokens).replace("of 1 tokens", "of 1 token")
            print_row(title.format(name), [
                [one[ours], *(other[name] for name in peers)]
                for one, other in zip(found[task, tokens], usual)])


def compare_hybrids():
    for threads in dict.fromkeys((1, ALL)):
        print_head(f"float32, {threads} thread{'s' * (threads > 1)}",
                   [PEERS[name.split()[0]] for name in TABLES["hybrids"][1:]])
        for model, name in HYBRIDS.items():
            found = compare_passes(threads, ["hybrids"], HYBRID_ROWS, model)
            print_passes(found, "hybrids", HYBRID_ROWS, None, f"{name}: {{}}")


def run(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def put_texts():
    """A hundred sentences of 6 to 20 words."""
    numbers, words = draw(3), WORDS["English"].split()
    with open(f"{FOLDER}/texts", "w", encoding="utf-8") as file:
        for _ in range(100):
            count = 6 + next(numbers) % 15
            file.write(" ".join(words[next(numbers) % len(words)] for _ in range(count)) + "\n")


def compare_processes():
    put_texts()
    model, one = f"{MODELS}/smollm2", open(f"{FOLDER}/texts").readline().strip()
    tasks = {
        "one head of one text to CSV": (
            "head", ["run", "-m", model, one, "--layer", "5", "--head", "3"]),
        "all attention of 100 texts to files": (
            "attention", ["batch", f"{FOLDER}/texts", "-m", model]),
        "surprisal of 100 texts to CSV": (
            "score", ["score", "-f", f"{FOLDER}/texts", "-m", model]),
        "gradients of the tokens of 100 texts to CSV": (
            "gradient", ["attribute", "-f", f"{FOLDER}/texts", "-m", model, "--by", "token",
                         "--method", "gradient"]),
        "scores and largest weights of all heads over 100 texts": (
            "atlas", ["atlas", "-f", f"{FOLDER}/texts", "-m", model])}
    outputs = {"head": ["-o", "head.csv"], "attention": ["--format", "npy", "-o", "all/"],
               "score": ["--format", "csv", "-o", "scores/"],
               "gradient": ["--format", "csv", "-o", "gradients/"], "atlas": ["-o", "atlas/"]}
    print_head(f"whole processes, float32, {ALL} threads", ["transformers", "TransformerLens",
                                                             "minicons"])
    for name, (task, command) in tasks.items():
        def ours_whole():
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                options = [f"{folder}/{word}" if word.endswith(("csv", "/")) and "-" not in word
                           and word != "csv" else word for word in outputs[task]]
                return run(ATTN, *command, *options, "-q")

        def whole(tool):
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                return run(sys.executable, f"{HERE}/whole.py", tool, task, model,
                           f"{FOLDER}/texts", folder)
        tools = ["transformers", "lens" if task in ("head", "attention") else None,
                 "minicons" if task == "score" else None]
        print_row(name, [[ours_whole(), *(tool and whole(tool) for tool in tools)]
                         for _ in range(min(MOST, 3 if task == "head" else 1))])


def compare_readme():
    """The README's own commands on the quantised file."""
    with open(f"{HERE}/../../../README.md", encoding="utf-8") as file:
        text = file.read().replace("\\\n", "")
    commands = re.findall(r"^(?:\$ )?(attn-cli .*-m smollm2.gguf[^#|\n]*)", text, re.M)
    print_head(f"README's commands, Q4_1, {ALL} threads", [])
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        os.symlink(glob.glob(f"{MODELS}/*Q4_1.gguf")[0], f"{folder}/smollm2.gguf")
        os.symlink(os.path.abspath(f"{HERE}/../../../data"), f"{folder}/data")
        for command in (" ".join(command.split()) for command in commands):
            words = command.replace("attn-cli", f'"{ATTN}"', 1)
            print_row(f"`{command}`", [[run("sh", "-c", f"cd {folder} && {words}")]
                                       for _ in range(min(MOST, 5))])


def print_machine():
    """What is compared, and where; the kinds of instructions of the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        facts = dict(line.split(":", 1) for line in file if ":" in line)
        facts = {key.strip(): value.strip() for key, value in facts.items()}
    kinds = [kind for kind in ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
             if kind in facts.get("flags", "").split()]
    version = importlib.metadata.version
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], text=True, cwd=HERE,
                            stdout=subprocess.PIPE, check=False).stdout.strip()
    with open(f"{HERE}/package.json", encoding="utf-8") as file:
        (llama,) = json.load(file)["optionalDependencies"].values()
    rounds = ", ".join(f"{rounds_of(n)} up to {n} tokens" for n in (24, 256, 1024))
    print(f"rounds: {rounds}.\n{facts.get('model name', platform.machine())}, "
          f"family {facts.get('cpu family')}, {ALL} processors, {' '.join(kinds)}\nattn-cli {commit}; "
          f"PyTorch {version('torch')}, transformers {version('transformers')}; "
          f"ONNX Runtime {version('onnxruntime')}; llama.cpp of node-llama-cpp {llama} "
          f"(float16 cache); "
          f"TransformerLens {version('transformer-lens')}; minicons {version('minicons')}")
    return " ".join(kinds)


def main():
    kinds = print_machine()
    for part in PARTS.split():
        others = {"process": compare_processes, "readme": compare_readme,
                  "hybrids": compare_hybrids}
        if part in others:
            others[part]()
            continue
        precision, threads = ("bf16", ALL) if part == "bf16" else ("", int(part))
        tables = ("bfloat16",) if precision else ("float32", "Q4_1")
        if precision and "bf16" not in kinds:
            print("bf16: left out, for this processor has no instructions for it")
            continue
        found = compare_passes(threads, tables, rows_of_lengths())
        for table in tables:
            print_passes(found, table, found, f"{table}, {threads} thread{'s' * (threads > 1)}",
                         "{}")
        if threads == ALL and not precision:
            print("\nREADME.md:")
            for i, (table, *row) in enumerate(README):
                print_passes(found, table, [tuple(row)], None if i else f"{ALL} threads",
                             f"{table}: {{}}")


main()
