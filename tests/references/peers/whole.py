"""A script for one task, as users of a peer write it, to be measured as a whole process.

    python whole.py TOOL TASK MODEL TEXTS FOLDER

TOOL is transformers, lens (TransformerLens) or minicons. TASK is `head` (layer 5, head 3 of the
first text as CSV), `attention` (all weights, one numpy file per text), `score` (the surprisal of
every token as CSV), `gradient` (of the likeliest next token's logit: the norm of each embedding's, as
CSV) or `atlas` (two scores of each head and its largest weights of each text, as CSV).
"""
import csv
import sys

import numpy
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TOOL, TASK, MODEL, TEXTS, FOLDER = sys.argv[1:]
LAYER, HEAD, BATCH = 5, 3, 32
torch.set_grad_enabled(False)


def attention_of(texts):
    """The weights [layer, head, query, key] of each text."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    if TOOL == "lens":
        from transformer_lens.model_bridge import TransformerBridge

        bridge = TransformerBridge.boot_transformers(MODEL)
        for text in texts:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            _, cache = bridge.run_with_cache(ids, names_filter=lambda name: "pattern" in name)
            yield text, torch.stack([cache["pattern", i][0] for i in range(bridge.cfg.n_layers)])
        return
    model = AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="eager").eval()
    for text in texts:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        yield text, torch.cat(model(ids, output_attentions=True).attentions)


def surprisals_of(texts):
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    if TOOL == "minicons":
        from minicons.scorer import IncrementalLMScorer

        scorer = IncrementalLMScorer(MODEL, "cpu")
        for first in range(0, len(texts), BATCH):
            yield from scorer.token_score(texts[first:first + BATCH], surprisal=True)
        return
    model = AutoModelForCausalLM.from_pretrained(MODEL).eval()
    for first in range(0, len(texts), BATCH):
        batch = tokenizer(texts[first:first + BATCH], return_tensors="pt", padding=True,
                          padding_side="right")
        logprobs = model(**batch).logits[:, :-1].log_softmax(-1)
        found = -logprobs.gather(-1, batch["input_ids"][:, 1:, None])[..., 0]
        for ids, row, mask in zip(batch["input_ids"], found, batch["attention_mask"]):
            ids = ids[:mask.sum()]
            words = tokenizer.convert_ids_to_tokens(ids)
            yield list(zip(words, [0.0, *row[:len(ids) - 1].tolist()]))


def saliencies_of(texts):
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL).eval().requires_grad_(False)
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.enable_grad():
            embeddings = model.get_input_embeddings()(ids).requires_grad_()
            model(inputs_embeds=embeddings).logits[0, -1].max().backward()
        yield list(zip(tokenizer.convert_ids_to_tokens(ids[0]),
                       embeddings.grad[0].norm(dim=-1).tolist()))


def atlas_of(texts):
    """Of each head: means of the weights on the previous token and on the first, and of each text
    the three largest weights with their query and key."""
    largest = {}
    sums = 0
    for i, (_, weights) in enumerate(attention_of(texts)):
        previous = weights.diagonal(-1, 2, 3).sum(-1)
        sums = sums + torch.stack([previous, weights[..., 0].sum(-1)], -1)
        top = weights.flatten(2).topk(3)
        for at in numpy.ndindex(*weights.shape[:2]):
            largest.setdefault(at, []).extend(
                (float(value), i, *divmod(int(index), weights.shape[-1]))
                for value, index in zip(top.values[at], top.indices[at]))
    for (layer, head), entries in largest.items():
        yield layer, head, *sums[layer, head].tolist(), *sorted(entries, reverse=True)[:16]


def main():
    with open(TEXTS, encoding="utf-8") as file:
        texts = file.read().splitlines()
    if TASK == "head":
        ((_, weights),) = attention_of(texts[:1])
        numpy.savetxt(f"{FOLDER}/head.csv", weights[LAYER, HEAD], "%.9g", ",")
    if TASK == "attention":
        for i, (_, weights) in enumerate(attention_of(texts)):
            numpy.save(f"{FOLDER}/{i}.npy", weights)
    if TASK in ("score", "gradient"):
        of_tokens = surprisals_of if TASK == "score" else saliencies_of
        with open(f"{FOLDER}/{TASK}.csv", "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            for i, tokens in enumerate(of_tokens(texts)):
                out.writerows((i, word, score) for word, score in tokens)
    if TASK == "atlas":
        with open(f"{FOLDER}/atlas.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(atlas_of(texts))


main()
