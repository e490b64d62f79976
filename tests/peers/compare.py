"""Compare the speed of attn-cli and its peers on SmolLM2 135M.

    python compare.py ATTN MODELS FOLDER      (run.sh makes MODELS and FOLDER)

Programs are measured in turn, so that a slow minute slows all of them. The table has medians over
rounds: the time of attn-cli, and the time of each peer divided by that of attn-cli in the same
round (below 1: the peer is faster). A part has fewer rounds if its share of MINUTES is over, and no
rows of the longest texts if one round of them would take longer. ONLY=process or ONLY=1 runs one
part.
"""
import glob
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../real")
from sentences import WORDS, draw  # noqa: E402

ATTN, MODELS, FOLDER = map(os.path.abspath, sys.argv[1:])
ROUNDS = int(os.environ.get("ROUNDS", 5))
END = time.time() + 60 * float(os.environ.get("MINUTES", 2.5))
ALL = len(os.sched_getaffinity(0))
LENGTHS = 64, 256, 1024
TASKS = {"f32": ("prefill", "capture"), "bf16": ("prefill",)}
NAMES = {"prefill": "prefill of {}", "capture": "all attention of {}",
         "decode": "a token after {}"}
PEERS = {"f32": {"eager": "PyTorch eager", "sdpa": "PyTorch sdpa", "onnx": "ONNX Runtime",
                  "llama": "llama.cpp"},
         "bf16": {"eager": "PyTorch eager", "sdpa": "PyTorch sdpa", "llama": "llama.cpp"}}


class Worker:
    def __init__(self, peer, threads, precision):
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads), "PYTHONPATH": f"{HERE}/../../lib/bindings/python",
            "LIBATTN": glob.glob(f"{os.path.dirname(ATTN)}/libattn.so.*")[0],
            "PEERS": FOLDER}
        self.process = subprocess.Popen(
            [sys.executable, f"{HERE}/worker.py", peer, MODELS, FOLDER, str(threads), precision],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment)

    def __call__(self, task, tokens):
        print(json.dumps({"task": task, "tokens": tokens}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rows_of(precision, lengths):
    """(task, tokens) of each row."""
    return [(task, tokens) for task in TASKS[precision] for tokens in lengths] + [("decode", 64)]


def ours(threads, precision, lengths):
    """The seconds of every row of `attn-cli bench`, by one process."""
    found = json.loads(subprocess.check_output(
        [ATTN, "bench", f"{MODELS}/smollm2", "--threads", str(threads), "--repeat", "1",
         "--precision", precision, "--format", "json", "--quiet", "--only", "prefill,decode",
         "--tokens", ",".join(map(str, lengths))]))["tables"]["bench"]
    return {(row["task"], row["cached"] or row["tokens"]): row["seconds"] for row in found}


def run(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def take_rounds(measure, seconds):
    """Measure ROUNDS times, or until `seconds` are over, at least once."""
    start, rounds = time.monotonic(), []
    while len(rounds) < ROUNDS:
        taken = time.monotonic() - start
        if rounds and taken * (1 + 1 / len(rounds)) > seconds:
            break
        rounds.append(measure())
    return rounds


def print_row(name, rounds):
    """Print a row; each round has the seconds of all programs, first those of attn-cli."""
    cells = [f"{1e3 * statistics.median(row[0] for row in rounds):.4g} ms"]
    for i in range(1, len(rounds[0])):
        known = [row[i] / row[0] for row in rounds if row[i]]
        cells.append(f"{statistics.median(known):.2f} ×" if known else "")
    few = f" {len(rounds)} rounds" if len(rounds) < ROUNDS else ""
    print(f"| {name} | {' | '.join(cells)} |{few}", flush=True)


def print_head(what, names):
    print(f"\n| {what} | attn-cli | {' | '.join(names)} |\n|---|{'--:|' * (len(names) + 1)}")


def compare_passes(threads, precision, seconds):
    """Measure programs that keep their model loaded, one program after the other in each round.
    Short passes warm up first and are not counted: weights are packed and kernels chosen."""
    end, peers = time.monotonic() + seconds, PEERS[precision]
    print_head(f"{precision}, {threads} thread{'s' * (threads > 1)}", peers.values())
    workers = [Worker(peer, threads, precision) for peer in peers]
    library = Worker("attn", threads, precision) if "capture" in TASKS[precision] else None

    def measure(lengths):
        rows = rows_of(precision, lengths)
        first = ours(threads, precision, lengths)
        first |= {row: library(*row) for row in rows if row[0] == "capture"}
        others = [{row: worker(*row) for row in rows} for worker in workers]
        return [[first[row], *(other[row] for other in others)] for row in rows]

    measure(LENGTHS[:1])
    start = time.monotonic()
    measure(LENGTHS[:-1])
    longest = 6 * (time.monotonic() - start)  # four times the tokens, each with more keys
    lengths = LENGTHS if longest < end - time.monotonic() else LENGTHS[:-1]
    rounds = take_rounds(lambda: measure(lengths), end - time.monotonic())
    for i, (task, tokens) in enumerate(rows_of(precision, lengths)):
        print_row(NAMES[task].format(tokens), [found[i] for found in rounds])
    if lengths != LENGTHS:
        print(f"Passes of {LENGTHS[-1]} tokens would take longer than MINUTES allow.")
    for worker in [*workers, *([library] if library else [])]:
        worker.close()


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
            "score", ["score", "-f", f"{FOLDER}/texts", "-m", model])}
    outputs = {"head": ["-o", "head.csv"], "attention": ["--format", "npy", "-o", "all/"],
               "score": ["--format", "csv", "-o", "scores/"]}
    print_head(f"whole processes, f32, {ALL} threads", ["transformers", "TransformerLens",
                                                         "minicons"])
    for i, (name, (task, command)) in enumerate(tasks.items()):
        def ours_whole():
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                options = [f"{folder}/{word}" if word.endswith(("csv", "/")) and "-" not in word
                           and word != "csv" else word for word in outputs[task]]
                return run(ATTN, *command, *options, "-q")

        def whole(tool):
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                return run(sys.executable, f"{HERE}/whole.py", tool, task, model,
                           f"{FOLDER}/texts", folder)
        tools = ["transformers", *(["lens"] if task != "score" else [None]),
                 *(["minicons"] if task == "score" else [None])]
        print_row(name, take_rounds(
            lambda: [ours_whole(), *(tool and whole(tool) for tool in tools)],
            max(0, END - time.time()) / (len(tasks) - i)))


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
    print(f"SmolLM2 135M; medians of {ROUNDS} rounds; × attn-cli's time, below 1 faster.\n"
          f"{facts.get('model name', platform.machine())}, family {facts.get('cpu family')}, "
          f"{ALL} processors, {' '.join(kinds)}\nattn-cli {commit}; "
          f"PyTorch {version('torch')}, transformers {version('transformers')}; "
          f"ONNX Runtime {version('onnxruntime')}; llama.cpp of node-llama-cpp {llama} "
          f"(float16 cache); "
          f"TransformerLens {version('transformer-lens')}; minicons {version('minicons')}")
    return " ".join(kinds)


def main():
    only = os.environ.get("ONLY", "")
    parts = [(threads, precision) for threads in dict.fromkeys((1, ALL))
             for precision in ("f32", "bf16") if only in ("", str(threads))]
    if "bf16" not in print_machine():
        print("bf16: left out, for this processor has no instructions for it")
        parts = [part for part in parts if part[1] != "bf16"]
    shares = len(parts) + 2 * (only in ("", "process"))
    for i, part in enumerate(parts):
        compare_passes(*part, max(0, END - time.time()) / (shares - i))
    if only in ("", "process"):
        compare_processes()


main()
