"""Compare the encoders all-MiniLM-L6-v2 (BERT) and all-mpnet-base-v2 with transformers in float64
(ids, and every site) and with sentence-transformers (vectors of sentences, as one array).

    python encoders.py FOLDER MODEL      FOLDER of models.py; MODEL: minilm or mpnet

The last line is `N passed, N failed`.
"""
import json
import pathlib
import sys
import tempfile

import numpy
import torch
from program import attn
from same_numbers import compare_ids, compare_sites
from sentence_transformers import SentenceTransformer
from sentences import TEXTS, sentences
from tally import Tally
from transformers import AutoModel, AutoTokenizer


class Oracle:
    """A base model, with the tensors of every site of its forward pass."""

    def __init__(self, folder, dtype=torch.float64):
        self.model = AutoModel.from_pretrained(folder, dtype=dtype,
                                               attn_implementation="eager").eval()
        self.found = {}
        self.on_output(self.model.embeddings, "embedding")
        self.on_output(self.model.pooler, "pooled")
        for i, layer in enumerate(self.model.encoder.layer):
            self.hook(layer, f"h.{i}.")

    def hook(self, layer, at):
        if hasattr(layer.attention, "attn"):  # mpnet
            inner, norm = layer.attention.attn, layer.attention.LayerNorm
            parts, out = (inner.q, inner.k, inner.v), inner.o
        else:
            inner, norm = layer.attention.self, layer.attention.output.LayerNorm
            parts, out = (inner.query, inner.key, inner.value), layer.attention.output.dense
        for name, part in zip("qkv", parts):
            self.on_output(part, f"{at}{name}")
        self.on_input(layer, f"{at}resid_pre")
        self.on_input(out, f"{at}context")
        self.on_output(out, f"{at}attn_out")
        self.on_input(norm, f"{at}resid_mid")
        self.on_output(norm, f"{at}ln_1")
        self.on_output(layer.intermediate, f"{at}mlp_act")
        self.on_output(layer.output.dense, f"{at}mlp_out")
        self.on_output(layer.output.LayerNorm, f"{at}ln_2", f"{at}resid_post")

    def on_input(self, module, name):
        module.register_forward_pre_hook(
            lambda _, args: self.found.update({name: args[0].detach()}))

    def on_output(self, module, *names):
        module.register_forward_hook(
            lambda _, args, out: self.found.update(dict.fromkeys(names, out.detach())))

    @torch.no_grad()
    def sites(self, ids):
        """Tensors by the names of attn-cli, [head, query or token, …]."""
        out = self.model(torch.tensor([ids]), output_attentions=True)
        found = {name: tensor[0] if tensor.dim() == 3 else tensor
                 for name, tensor in self.found.items()}
        heads = self.model.config.num_attention_heads
        for i, weights in enumerate(out.attentions):
            at = f"h.{i}."
            for name in ("q", "k", "v", "context"):
                flat = found[f"{at}{name}"]
                found[f"{at}{name}"] = flat.reshape(len(ids), heads, -1).transpose(0, 1)
            q, k = found[f"{at}q"], found[f"{at}k"]
            scores = q @ k.transpose(1, 2)
            found |= {f"{at}weights": weights[0], f"{at}scores": scores,
                      f"{at}masked": scores / q.shape[-1]**0.5}
            if hasattr(self.model.encoder, "compute_position_bias"):
                found[f"{at}masked"] += self.model.encoder.compute_position_bias(q[:1])[0]
        return found


def compare_vectors(tally, model, tokenizer):
    """Both read whole texts: sentence-transformers cuts longer ones, attn-cli does not."""
    texts = [text for text in sentences() if 2 < len(tokenizer(text)["input_ids"]) <= 128]
    judge = SentenceTransformer(model, device="cpu")
    plain = SentenceTransformer(modules=[judge[0], judge[1]], device="cpu")
    tally.check([type(module).__name__ for module in judge]
                == ["Transformer", "Pooling", "Normalize"], "vectors are means of length 1")
    with tempfile.TemporaryDirectory() as folder:
        corpus, array = pathlib.Path(folder, "corpus.jsonl"), f"{folder}/vectors.npy"
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        for options, peer in ((("mean", "--normalize"), judge), (("mean",), plain),
                              (("model",), judge)):
            attn("run", "-q", "-m", model, "-f", corpus, "--stack", "-o", array,
                 "--pool", *options)
            tally.near(peer.encode(texts), numpy.load(array), 1e-5,
                       f"{' '.join(('vectors', *options))} of {len(texts)} sentences")


def main():
    folder, name = sys.argv[1:]
    model = f"{folder}/{name}"
    tally, tokenizer = Tally(), AutoTokenizer.from_pretrained(model)
    print(f"{name}: attn-cli and transformers in float64", flush=True)
    compare_ids(tally, {"safetensors": model}, tokenizer)
    oracle = Oracle(model)
    texts = [tokenizer(text)["input_ids"] for text in TEXTS]
    compare_sites(tally, {"safetensors": model}, (oracle, Oracle(model, torch.float32)), texts)
    compare_vectors(tally, model, tokenizer)
    tally.close()


if __name__ == "__main__":
    main()
