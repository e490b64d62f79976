"""Agreement in number, as a researcher looks at it: on 20 pairs of texts the logit difference, the
heads that it comes from, activation patching of every head, and steering by a function.

    python3 data/guides/laboratory.py [MODEL]
"""
import sys
import attn

NOUNS = ("key dog girl book cat boy car king house bird tree door hat song cup road ship hill lamp "
         "chair").split()

with attn.Model(sys.argv[1] if len(sys.argv) > 1 else "smollm2.gguf") as model:
    pairs = [["The %s%s near the window" % (noun, end) for end in ("s", "")] for noun in NOUNS]
    many, one = zip(*(both for both in pairs if len(set(map(len, map(model.encode, both)))) == 1))
    middle = "h.%d.resid_post" % (model.counts.layers // 2)
    answers = [int(model.encode(word)[0]) for word in (" are", " is")]

    def difference(texts, **how):
        logits = [run["logits"][-1, answers] for run in model.run(texts, "logits", **how)]
        return sum(are - is_ for are, is_ in logits) / len(texts)

    print("logit difference", difference(one), "plural", difference(many))
    parts = model.attribute(many, answer=" are: is").frame()
    heads = parts.groupby(["layer", "head"]).value.sum() / len(many)
    print("from heads", heads.nlargest(3), sep="\n")
    patched = [model.patch(*both, answer=" are: is").frame() for both in zip(many, one)]
    fractions = sum(table[table.tensor == "fraction"].set_index(["layer", "head"]).value
                    for table in patched) / len(patched)
    print("restored by heads", fractions.nlargest(3), sep="\n")
    plural = model.steer(many, one, layers=model.counts.layers // 2, query=1)[middle]

    def steer(x):  # [tokens, channels]
        x[1] += 2 * plural

    print("steered", difference(one, edits={middle: steer}))
