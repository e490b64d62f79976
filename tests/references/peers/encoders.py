"""Compare whole processes of attn-cli, transformers and ONNX Runtime on all-MiniLM-L6-v2, an encoder.

    python encoders.py ATTN MODEL FOLDER              prints a table as compare.py does
    python encoders.py TOOL TASK MODEL TEXTS FOLDER   runs a peer: transformers or onnx

TASK is `attention` (all weights as CSV, a line for each) or `vectors` (means of the last layer, of
length 1, as a numpy file). Peers read sentences in batches: of similar length for vectors.
"""
import os
import statistics
import subprocess
import sys
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = {"attention": 100, "vectors": 16}


def transformers(task, model, _folder):
    """A function of a batch of texts: tokens of each text, and arrays [text, …]."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_grad_enabled(False)
    tokenizer = AutoTokenizer.from_pretrained(model)
    net = AutoModel.from_pretrained(model, attn_implementation="eager").eval()

    def call(texts):
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        out = net(**batch, output_attentions=task == "attention")
        arrays = out.attentions if task == "attention" else [out.last_hidden_state]
        tokens = [tokenizer.convert_ids_to_tokens(ids[mask.bool()])
                  for ids, mask in zip(batch["input_ids"], batch["attention_mask"])]
        return tokens, [array.numpy() for array in arrays]
    return call


def onnx(task, model, folder):
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    session = onnxruntime.InferenceSession(f"{folder}/encoder-{task}.onnx")

    def call(texts):
        batch = tokenizer.encode_batch(texts)
        ids, mask = (numpy.array([getattr(text, name) for text in batch], numpy.int64)
                     for name in ("ids", "attention_mask"))
        tokens = [text.tokens[:sum(text.attention_mask)] for text in batch]
        return tokens, session.run(None, {"ids": ids, "mask": mask})
    return call


def export(task, model, path):
    import torch
    from transformers import AutoModel

    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = AutoModel.from_pretrained(model, attn_implementation="eager").eval()

        def forward(self, ids, mask):
            out = self.net(ids, mask, output_attentions=task == "attention")
            return tuple(out.attentions) if task == "attention" else out.last_hidden_state

    ids, axes = torch.ones(2, 7, dtype=torch.long), {0: "text", 1: "token"}
    torch.onnx.export(Graph(), (ids, ids), path, input_names=["ids", "mask"], opset_version=17,
                      dynamic_axes={"ids": axes, "mask": axes}, dynamo=False)


def peer(tool, task, model, texts, folder):
    call = {"transformers": transformers, "onnx": onnx}[tool](task, model, folder)
    with open(texts, encoding="utf-8") as file:
        texts = file.read().splitlines()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]) if task == "vectors" else i)
    batches = [order[i:i + BATCH[task]] for i in range(0, len(texts), BATCH[task])]
    if task == "vectors":
        vectors = [None] * len(texts)
        for batch in batches:
            tokens, (states,) = call([texts[i] for i in batch])
            for i, names, rows in zip(batch, tokens, states):
                mean = rows[:len(names)].mean(0)
                vectors[i] = mean / numpy.linalg.norm(mean)
        numpy.save(f"{folder}/{tool}.npy", vectors)
        return
    with open(f"{folder}/{tool}.csv", "w", encoding="utf-8") as out:
        out.write("sentence,layer,head,query,query_token,key,key_token,weight\n")
        for batch in batches:
            tokens, layers = call([texts[i] for i in batch])
            for i, (text, names) in enumerate(zip(batch, tokens)):
                for layer, weights in enumerate(layers):
                    heads = weights[i, :, :len(names), :len(names)].tolist()
                    for head, rows in enumerate(heads):
                        for query, row in enumerate(rows):
                            start = f"{text},{layer},{head},{query},{names[query]},"
                            out.write("".join([f"{start}{key},{names[key]},{weight:.8g}\n"
                                               for key, weight in enumerate(row)]))


def seconds(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(attn, model, folder):
    threads = len(os.sched_getaffinity(0))
    rounds = min(int(os.environ.get("ROUNDS", 3)), 3)
    print(f"\n| MiniLM, whole processes, float32, {threads} threads | attn-cli | transformers "
          "| ONNX Runtime |\n|---|--:|--:|--:|")
    with open(f"{folder}/texts", encoding="utf-8") as file:
        texts = file.read()
    for task in BATCH:
        if not os.path.exists(f"{folder}/encoder-{task}.onnx"):
            export(task, model, f"{folder}/encoder-{task}.onnx")
    for name, task, copies, options in (
            ("attention of 100 texts to CSV", "attention", 1, ["--show", "weights", "-o",
                                                               f"{folder}/attn.tidy.csv"]),
            ("vectors of 100 texts", "vectors", 1, []), ("vectors of 1,000", "vectors", 10, [])):
        with open(f"{folder}/some", "w", encoding="utf-8") as file:
            file.write(texts * copies)
        options = options or ["--pool", "mean", "--normalize", "--stack", "-o",
                              f"{folder}/attn.npy"]
        found = [[seconds(attn, "run", "-q", "-m", model, "-f", f"{folder}/some", *options),
                  *(seconds(sys.executable, f"{HERE}/encoders.py", tool, task, model,
                            f"{folder}/some", folder) for tool in ("transformers", "onnx"))]
                 for _ in range(rounds)]
        ours = statistics.median(row[0] for row in found)
        ratios = [statistics.median(row[i] / row[0] for row in found) for i in (1, 2)]
        print(f"| {name} | {1e3 * ours:,.0f} ms | {ratios[0]:.2g} | {ratios[1]:.2g} |", flush=True)
        if task == "vectors":
            mine = numpy.load(f"{folder}/attn.npy")
            for tool in "transformers", "onnx":
                assert abs(mine - numpy.load(f"{folder}/{tool}.npy")).max() < 1e-5, tool


if __name__ == "__main__":
    (peer if len(sys.argv) == 6 else main)(*sys.argv[1:])
