"""Find the attention head that predicts each relation of a treebank best (Clark et al., 2019), in
causal models.

    python3 data/guides/relations.py FILE.conllu [MODEL]

Of two related words, the later one attends to the earlier one: in `obj`, a dependent to its
syntactic head; in `nsubj/head`, a syntactic head to its dependent. The attention between words is
the sum over their tokens. A head predicts the earlier word with the largest sum. `null` is the
accuracy of the same head on random tokens, `baseline` that of the best fixed offset.
"""
import collections
import json
import random
import subprocess
import sys


def attn(*words, text=""):
    return subprocess.check_output(["attn-cli", *words], input=text, text=True)


def read_conllu(path):
    """Yield each sentence: rows without multi-word tokens, the text, and the end of each word."""
    with open(path, encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            lines = [line.split("\t") for line in block.splitlines() if line[:1] not in ("", "#")]
            rows, text, ends = [line for line in lines if line[0].isdigit()], b"", []
            for row in rows:
                text += row[1].encode()
                ends.append(len(text))
                text += b"" if "SpaceAfter=No" in row[9] else b" "
            if rows:
                yield rows, text.decode().rstrip(" "), ends


def word_of(text, token, ends):
    """The index of the word that contains the first character of a token that is not a blank."""
    part = text[token["start"]:token["end"]].lstrip(b" ")
    return next((i for i, end in enumerate(ends) if part and token["end"] - len(part) < end), None)


def found_by(weights, words, word):
    given = {other: 0.0 for other in sorted({w for w in words if w is not None and w < word})}
    for query, row in enumerate(weights):
        for key in range(query + 1 if words[query] == word else 0):
            if words[key] in given:
                given[words[key]] += row[key]
    return max(given, key=given.get)  # the first, if several are equal


def main(path, model="tiny"):
    sentences = list(read_conllu(path))
    show = ["-q", "-m", model, "--show", "weights", "--layer", "all", "--format", "jsonl"]
    runs = attn("run", "-f", "-", *show, text="".join(f"{text}\n" for _, text, _ in sentences))
    facts = json.loads(attn("info", model, "--format", "json"))["facts"]
    size, draw = facts["vocab_size"], random.Random(0)
    hits, null, offsets = (collections.defaultdict(collections.Counter) for _ in range(3))
    for (rows, text, ends), line in zip(sentences, runs.splitlines()):
        run, arcs = json.loads(line), []
        words = [word_of(text.encode(), token, ends) for token in run["tokens"]]
        for i, row in enumerate(rows):
            head = int(row[6]) - 1
            if head >= 0 and i in words and head in words:
                relation = row[7] + ("/head" if head > i else "")
                arcs.append((relation, max(i, head), min(i, head)))
                offsets[relation][abs(i - head)] += 1
        ids = ",".join(str(draw.randrange(size)) for _ in words)
        for counts, each in (hits, run), (null, json.loads(attn("run", "--ids", ids, *show))):
            for name, heads in each["tensors"].items():
                for head, weights in enumerate(heads):
                    for relation, later, earlier in arcs:
                        counts[relation][int(name.split(".")[1]), head] += (
                            found_by(weights, words, later) == earlier)
    print("relation,pairs,layer,head,accuracy,null,offset,baseline")
    for relation in sorted(hits, key=lambda name: (-sum(offsets[name].values()), name)):
        pairs = sum(offsets[relation].values())
        (layer, head), most = min(hits[relation].items(), key=lambda item: (-item[1], item[0]))
        offset, same = min(offsets[relation].items(), key=lambda item: (-item[1], item[0]))
        print(f"{relation},{pairs},{layer},{head},{most / pairs:.4f},"
              f"{null[relation][layer, head] / pairs:.4f},{-offset},{same / pairs:.4f}")


main(*sys.argv[1:])
