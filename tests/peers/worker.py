"""A peer with its model loaded: reads requests as lines of JSON, answers with lines of seconds.

    python worker.py PEER MODELS GRAPHS THREADS f32|bf16      PEER: eager, sdpa, onnx, llama, attn

A request is {"task": "prefill", "tokens": 64}. Tasks: prefill, a text in one pass without logits;
capture, the same with the attention of every head; decode, one more token after that many, with its
logits. The answer is null if a peer cannot do a task.
"""
import json
import sys
import time

import numpy

PEER, MODELS, GRAPHS, THREADS, PRECISION = sys.argv[1:]
WORDS = 49152


def ids_of(count):
    """Ids spread over the vocabulary."""
    return [(7919 * i + 13) % WORDS for i in range(count)]


class Attn:
    """attn-cli's library, whose callback gets the attention of each layer without a copy."""

    def __init__(self):
        import attn

        attn.Run._take = lambda run, tensor: None
        self.model = attn.Model(f"{MODELS}/smollm2", int(THREADS))

    def capture(self, tokens):
        ids = ids_of(tokens)
        start = time.perf_counter()
        self.model.run(ids, show="weights")
        return time.perf_counter() - start


class Transformers:
    """transformers: eager returns the attention; sdpa, PyTorch's fused kernel, does not."""

    def __init__(self):
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(int(THREADS))
        torch.set_grad_enabled(False)
        self.torch = torch
        dtype = torch.float32 if PRECISION == "f32" else torch.bfloat16
        self.model = AutoModelForCausalLM.from_pretrained(
            f"{MODELS}/smollm2", dtype=dtype, attn_implementation=PEER).eval()

    def timed(self, model, ids, **options):
        ids = self.torch.tensor([ids])
        start = time.perf_counter()
        model(ids, **options)
        return time.perf_counter() - start

    def prefill(self, tokens):
        return self.timed(self.model.model, ids_of(tokens), use_cache=False)

    def capture(self, tokens):
        if PEER != "eager":
            return None
        return self.timed(self.model.model, ids_of(tokens), use_cache=False,
                          output_attentions=True)

    def decode(self, cached):
        ids = ids_of(cached + 1)
        cache = self.model(self.torch.tensor([ids[:-1]]), use_cache=True).past_key_values
        return self.timed(self.model, ids[-1:], past_key_values=cache, use_cache=True)


class OnnxRuntime:
    def __init__(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(THREADS)
        self.open = lambda kind: onnxruntime.InferenceSession(
            f"{GRAPHS}/{kind}.onnx", options, providers=["CPUExecutionProvider"])
        self.sessions = {}

    def timed(self, kind, inputs):
        session = self.sessions.get(kind) or self.sessions.setdefault(kind, self.open(kind))
        start = time.perf_counter()
        found = session.run(None, inputs)
        return time.perf_counter() - start, session, found

    def prefill(self, tokens):
        return self.timed("plain", {"ids": numpy.array([ids_of(tokens)])})[0]

    def capture(self, tokens):
        return self.timed("attention", {"ids": numpy.array([ids_of(tokens)])})[0]

    def decode(self, cached):
        ids = ids_of(cached + 1)
        session = self.sessions.get("cache") or self.sessions.setdefault("cache",
                                                                         self.open("cache"))
        shape = session.get_inputs()[1].shape
        inputs = {entry.name: numpy.zeros((1, shape[1], cached, shape[3]), numpy.float32)
                  for entry in session.get_inputs()[1:]}
        return self.timed("cache", inputs | {"ids": numpy.array([ids[-1:]])})[0]


class LlamaCpp:
    """llama.cpp: keys and values in float16, its default; logits of the last token only."""

    def __init__(self):
        import llama

        self.llama = llama.Llama(f"{MODELS}/smollm2-{PRECISION}.gguf", threads=int(THREADS))

    def prefill(self, tokens):
        return self.llama.ask(ids=ids_of(tokens))["seconds"]

    def capture(self, _):
        return None

    def decode(self, cached):
        return self.llama.ask(ids=ids_of(cached + 1), cached=cached)["seconds"]


def main():
    peer = {"attn": Attn, "onnx": OnnxRuntime, "llama": LlamaCpp}.get(PEER, Transformers)()
    for line in sys.stdin:
        request = json.loads(line)
        seconds = getattr(peer, request["task"])(request["tokens"])
        print(json.dumps(seconds), flush=True)


main()
