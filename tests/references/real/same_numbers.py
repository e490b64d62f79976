"""Compare ids, every site, logits and greedy tokens with transformers in float64.

    python same_numbers.py FOLDER MODEL [small]      FOLDER of models.py; MODEL: smollm2 or gemma3

`small` uses two of the four texts, and one of the five prompts. The last line is
`N passed, N failed`.
"""
import math
import re
import sys

import torch
from models import GGUF
from oracle import Oracle
from program import ids_of, json_of, listed, tensors_of
from sentences import GREEDY, TEXTS, sentences
from tally import Tally
from transformers import AutoTokenizer

BOUND = 2e-5  # of the largest element of a tensor
BEYOND = 600  # tokens: longer than the windows of Gemma
SURPRISAL = 7e-4  # nats; data/guides/real-models.md explains it
SCORED = "Die Straße über die Brücke ist heute gesperrt."


def compare_ids(tally, models, tokenizer):
    texts = list(filter(tokenizer.tokenize, sentences()))  # white space has no word pieces
    expected = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    for kind, model in models.items():
        found = ids_of(texts, model)
        wrong = [i for i in range(len(texts)) if found[i] != expected[i]]
        for i in wrong[:3]:
            print(f"{texts[i]!r}: expected {expected[i]}, found {found[i]}")
        tally.check(not wrong, f"{kind}: ids of {len(texts)} sentences, {len(wrong)} differ")


def compare_chat(tally, models, tokenizer):
    """--chat, for models with a template: SmolLM2."""
    texts = sentences()
    if not tokenizer.chat_template:
        return
    expected = [tokenizer.apply_chat_template([{"role": "user", "content": text}],
                                              add_generation_prompt=True, return_dict=False)
                for text in texts]
    for kind, model in models.items():
        found = ids_of(texts, model, "--chat")
        tally.check(found == expected, f"{kind}: ids of {len(texts)} messages by --chat")


def off_by(found, expected):
    """As a fraction of the largest element; masked elements must be -inf in both."""
    visible = expected.isfinite()
    if not bool((visible == found.isfinite()).all()):
        return math.inf
    return float((found.double() - expected)[visible].abs().max() / expected[visible].abs().max())


def compare_sites(tally, models, oracles, texts):
    """Print the worst difference over layers and texts, also that of transformers in float32."""
    worst = {}
    for ids in texts:
        expected, single = (oracle.sites(ids) for oracle in oracles)
        others = {kind: tensors_of(model, ids, "--show", "all", "--layer", "all")
                  for kind, model in models.items()} | {"float32": single}
        first, last = (list(others.values())[i] for i in (0, len(models) - 1))
        tally.quiet(all(torch.equal(first[name], last[name]) for name in first),
                    f"{' and '.join(models)}: the same bits")
        for kind, found in others.items():
            missing = set(found) ^ set(expected)
            tally.quiet(not missing, f"{kind}: the same sites: {missing}")
            for name in set(found) & set(expected):
                key = re.sub(r"h\.\d+\.", "", name), kind
                worst[key] = max(worst.get(key, (0,)),
                                 (off_by(found[name], expected[name]), name, len(ids)))
    kinds = [*models, "float32"]
    print(f"{'site':12}" + "".join(f"{kind:>13}" for kind in kinds) + "  worst at")
    for site in sorted({site for site, _ in worst}):
        row = [worst[site, kind] for kind in kinds]
        print(f"{site:12}" + "".join(f"{off[0]:13.1e}" for off in row) +
              f"  {row[0][1]}, {row[0][2]} tokens")
        tally.quiet(max(off[0] for off in row[:-1]) <= BOUND, f"{site}: at most {BOUND:.1e}")


def compare_surprisal(tally, models, oracle, texts):
    """Of tokens and words after the beginning token; transformers in float64."""
    texts = [text for text in texts if text.strip()]
    given = [part for text in texts for part in ("-s", text)]
    expected = []
    for kind, model in models.items():
        tokens, words = ([result["tables"]["scores"] for result in json_of(
            "score", "-q", "-m", model, "--top", 0, *options, *given)]
            for options in (("--special", "bos"), ("--words",)))
        for rows in tokens if not expected else []:
            ids = torch.tensor([row["id"] for row in rows])
            logprobs = oracle.logits(ids.tolist()).log_softmax(-1)
            expected.append(-logprobs[:-1].gather(1, ids[1:, None])[:, 0])
        off = [0.0, 0.0]
        for own, mine, spans in zip(expected, tokens, words):
            found = torch.tensor([row["surprisal_nats"] for row in mine[1:]])
            sums = torch.stack([part.sum() for part in own.split([row["subwords"] for row in spans])])
            found_sums = torch.tensor([row["surprisal_nats"] for row in spans])
            off = [max(off[0], float((found - own).abs().max())),
                   max(off[1], float((found_sums - sums).abs().max()))]
        for what, worst in zip(("tokens", "words"), off):
            tally.check(worst <= SURPRISAL,
                        f"{kind}: surprisal of {what} of {len(texts)} sentences, off by {worst:.1e}")


def compare_greedy(tally, models, oracle, tokenizer, texts, count=50):
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        expected = oracle.greedy(ids, count)
        for kind, model in models.items():
            found = json_of("generate", "-m", model, "--ids", listed(ids), "-n", count, "--ignore-eos",
                            "--show", "tokens")["tokens"]
            found = [token["id"] for token in found][len(ids):]
            tally.check(found == expected, f"{kind}: {count} greedy tokens after {text!r}")


def main():
    folder, name, *small = sys.argv[1:]
    tally = Tally()
    models = {"GGUF": f"{folder}/{GGUF[name]}", "safetensors": f"{folder}/{name}"}
    tokenizer = AutoTokenizer.from_pretrained(models["safetensors"])
    print(f"{name}: attn-cli and transformers in float64", flush=True)
    compare_ids(tally, models, tokenizer)
    compare_chat(tally, models, tokenizer)
    oracle = Oracle(models["safetensors"])
    single = Oracle(models["safetensors"], torch.float32)
    texts = [tokenizer(text)["input_ids"] for text in (TEXTS[:2] if small else TEXTS)]
    compare_sites(tally, models, (oracle, single), texts)
    long = tokenizer(" ".join(sentences(120)))["input_ids"][:BEYOND]
    expected = oracle.logits(long)
    for kind, model in models.items():
        off = off_by(tensors_of(model, long, "--show", "logits")["logits"], expected)
        tally.check(off <= BOUND, f"{kind}: logits of {len(long)} tokens, off by {off:.1e}")
    compare_surprisal(tally, models, oracle, [SCORED, *sentences(20 if small else 100)])
    compare_greedy(tally, models, oracle, tokenizer, GREEDY[:1] if small else GREEDY)
    tally.close()


if __name__ == "__main__":
    main()
