#!/bin/sh
# lib/bindings/python gives attn-cli's numbers as numpy arrays and pandas tables.
#
#     sh tests/readers/python.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(absolute "${1:-build}")
export LIBATTN="$build/libattn.so" PYTHONDONTWRITEBYTECODE=1

if [ ! -e "$LIBATTN" ]; then
    do_without 'the shared library is not built for another system or with sanitizers'
fi
if ! python=$(python_with 'numpy, pandas' || python_with numpy); then
    do_without 'numpy is not installed'
fi

export PYTHONPATH="$repository/lib/bindings/python"

# A frame has the rows of the program's tidy table, and the masked cells, which the table omits.
frames() { # TEXT OPTION...: of attn-cli run
    "$build/attn-cli" run "$@" --layer all --format tidy --force -o "$scratch/tidy.csv"
    check "a frame is the tidy table: $*" "$python" - "$scratch/tidy.csv" "$@" <<'END'
import sys
import attn, pandas
text, options = sys.argv[2], dict(zip(sys.argv[3::2], sys.argv[4::2]))
run = attn.Model(options["-m"]).run(text, source=options.get("--source"),
                                    show=options.get("--show", "weights"))
frame = run.frame()
program = pandas.read_csv(sys.argv[1], keep_default_na=False)
assert list(frame.columns) == list(program.columns), frame.columns
assert len(frame) == sum(values.size for values in run.values())
keys = list(frame.columns[:-1])
table = lambda one: one[keys].astype(object).where(one[keys].notna(), "").astype(str).assign(
    value=one.value.astype("float32"))
program = program[~program.column_token.str.contains("[\\\\‿]")]
both = table(program).merge(table(frame), on=keys, how="left")
assert len(both) == len(program) > 0 and (both.value_x == both.value_y).all(), \
    both[both.value_x != both.value_y]
END
}

"$build/attn-cli" run 'Life is short' --show all --format json -o "$scratch/all.json"
"$build/attn-cli" score 'Life is short' --format json -o "$scratch/score.json"
"$build/attn-cli" run -m life-cross -s 'Life is' --source 'short eat' --show weights \
    --format json -o "$scratch/cross.json"

check 'tensors agree with the program' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
program = json.load(open(sys.argv[1] + "/all.json"))
with attn.Model("tiny") as model:
    run = model.run("Life is short", show="all")
    assert run.tokens == [token["text"] for token in program["tokens"]], run.tokens
    assert list(run.ids) == [token["id"] for token in program["tokens"]]
    assert set(run) == set(program["tensors"]) and len(run) > 20, set(run) ^ set(program["tensors"])
    for name, values in run.items():
        expected = numpy.array(program["tensors"][name], dtype=object)
        seen = numpy.array([x is not None for x in expected.reshape(-1)])
        expected = numpy.where(seen, expected.reshape(-1), 0).astype(numpy.float32)
        assert values.dtype == numpy.float32 and values.size == expected.size, name
        assert numpy.array_equal(values.reshape(-1)[seen], expected[seen]), name
    assert run["h.1.weights"].shape == (4, 3, 3) == (model.counts.heads, 3, 3)
    assert run.axes["h.1.weights"] == ("head", "query", "key")
END
check 'scores agree with the program' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
program = json.load(open(sys.argv[1] + "/score.json"))
scores = attn.Model("tiny").score("Life is short")["logprob"]
expected = [token["logprob_nats"] for token in program["tables"]["scores"]]
assert numpy.isnan(scores[0]) and len(scores) == 3
assert numpy.array_equal(scores[1:], numpy.array(expected[1:], numpy.float32)), (scores, expected)
END
check 'source, heads and edits reach the engine' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
program = json.load(open(sys.argv[1] + "/cross.json"))["tensors"]["h.0.weights"]
cross = attn.Model("life-cross").run("Life is", source="short eat")["h.0.weights"]
assert numpy.array_equal(cross, numpy.array(program, numpy.float32))
model = attn.Model("tiny", threads=1)
run = model.run("Life is short", layers="-1", heads="2,3")
assert list(run) == ["h.1.weights"] and run.heads["h.1.weights"] == [2, 3]
edited = model.run([1, 2], show="attn_out", layers=0, edits="attn_out = 2")
assert (edited["h.0.attn_out"] == 2).all()
assert model.run([1, 2, 3], attention="window:1")["h.0.weights"][0, 2].tolist() == [0, 0, 1]
END
"$build/attn-cli" run -q -m cloze 'the dog' --pair 'a cat' --show all --format json \
    -o "$scratch/pair.json"
check 'a pair agrees with the program' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
program = json.load(open(sys.argv[1] + "/pair.json"))
model = attn.Model("cloze")
pair = model.encode("the dog", pair="a cat")
run = model.run(pair, show="all")
assert list(run.ids) == [token["id"] for token in program["tokens"]]
assert list(pair.segments) == [token["segment"] for token in program["tokens"]]
for name, values in run.items():
    assert numpy.array_equal(values, numpy.array(program["tensors"][name], numpy.float32)), name
assert list(model.encode("the dog", special=True)) == [2, *model.encode("the dog"), 3]
assert list(model.encode("the", pair="a\0b")) == [2, 273, 3, *model.encode("a\0b"), 3]
END
for name in bert roberta; do
    cp -r "tests/references/masked/$name" "$scratch"
    cp "tests/texts/tokenizers/$name-like/tokenizer.json" "$scratch/$name"
done
"$build/attn-cli" score -q -m cloze 'The keys to the cabinet are old.' --words --within-word \
    --format csv -o "$scratch/masked.csv"
check 'masked models have the scores of minicons and of the program' "$python" - "$scratch" <<'END'
import csv, sys
import attn, numpy
texts = ["The keys to the cabinet are unbelievable, aren't they?",
         "Life is short, eat dessert first."]
rows = lambda name: list(csv.reader(open(sys.argv[1] + name)))
for name in "bert", "roberta":
    model, found = attn.Model(sys.argv[1] + "/" + name), []
    assert model.counts.mask < model.counts.vocabulary <= attn.Model("tiny").counts.mask
    for within in False, True:
        for table in model.score(texts, within_word=within):
            found += list(table["logprob"])
        found += list(model.score("The keys to the cabinet", within_word=within,
                                  continuations=[" are rusty", " is unbelievable"])["logprob"])
    for within in False, True:
        found += list(model.score(texts[0], pair=texts[1], within_word=within)["logprob"])
        ids = model.encode(texts[0], pair=texts[1])
        if not within:  # the same ids with their segments
            assert numpy.array_equal(model.score(ids)["logprob"], found[-len(ids):], equal_nan=True)
    expected = [float(row[1]) for row in rows(f"/{name}/minicons.csv") if row[1]]
    numpy.testing.assert_allclose([x for x in found if not numpy.isnan(x)], expected, atol=1e-4)
table = attn.Model("cloze").score("The keys to the cabinet are old.", words=True, within_word=True)
program = rows("/masked.csv")[1:]
assert table["text"] == [row[1] for row in program], table["text"]
numpy.testing.assert_allclose(table["logprob"], [float(row[2]) for row in program], rtol=2e-7)
both = attn.Model("cloze").score(pairs=[("The keys are old.", "The keys is old.")])
one = attn.Model("cloze").score("The keys are old.")["logprob"]
assert both["logprob_good"][0] == numpy.nansum(one, dtype=float) and both["correct"][0]
try:
    attn.Model("tiny").score("Life is", within_word=True)
    raise AssertionError("a causal model has no words to mask")
except attn.Error as error:
    assert error.status == 2 and "expected a masked model" in str(error), error
END
check 'steps give the bits of one pass' "$python" - <<'END'
import attn, numpy
model = attn.Model("tiny")
whole = model.run("Life is short", show="logits")["logits"]
cache = model.cache()
parts = [cache.step([number])["logits"] for number in model.encode("Life is short")]
assert numpy.array_equal(numpy.concatenate(parts), whole)
model, ids = attn.Model("tests/references/golden-families/mpt"), list(range(3, 11))
whole, cache = model.run(ids, show="masked,weights,logits"), model.cache()
for at in range(0, 8, 2):  # biases count from the last key: constants, which the softmax cancels
    step, end = cache.step(ids[at:at + 2], show="masked,weights,logits"), at + 2
    seen = numpy.tri(2, end, at, dtype=bool)
    more = step["h.0.masked"][:, seen] - whole["h.0.masked"][:, at:end, :end][:, seen]
    assert numpy.ptp(more, axis=1).max() < 1e-5 and (more > 0.001).all() == (end < 8), more
    for got, all_of in ((step["h.0.weights"], whole["h.0.weights"][:, at:end, :end]),
                        (step["logits"], whole["logits"][at:end])):
        numpy.testing.assert_allclose(got, all_of, atol=2e-6)
END
printf '%s\n' 'Life is short' 'eat the dessert, it is sweet' 'A cat' >"$scratch/texts"
printf 'good,bad\nLife is short,Life is eat\nA cat sees,A cat see\n' >"$scratch/pairs.csv"
for words in '' --words; do
    # shellcheck disable=SC2086 # no word or one
    "$build/attn-cli" score -q $words -f "$scratch/texts" --format json -o "$scratch/s$words.json"
done
"$build/attn-cli" score -q -f "$scratch/pairs.csv" --format csv -o "$scratch/good.csv"
"$build/attn-cli" score -q 'Life is' --continue ' short' --continue ' a tale' --format csv \
    -o "$scratch/continued.csv"
for option in next window; do
    "$build/attn-cli" score 'Life is short' --$option 3 --format csv -q -o "$scratch/$option.csv"
done
check 'words, continuations and pairs have the scores of the program' "$python" - "$scratch" <<'END'
import csv, json, sys
import attn, numpy
texts = open(sys.argv[1] + "/texts").read().splitlines()
near = lambda ours, theirs: numpy.testing.assert_allclose(
    ours, numpy.array([numpy.nan if x in (None, "") else x for x in theirs], float), rtol=2e-7)
rows = lambda name, column: [row[column] for row in csv.DictReader(open(sys.argv[1] + name))]
model = attn.Model("tiny")
for words in (False, True):
    program = json.load(open(sys.argv[1] + "/s%s.json" % (words * "--words")))
    tables = model.score(texts, words=words)
    assert len(tables) == len(program) == 3
    for table, one in zip(tables, program):
        scores = one["tables"]["scores"]
        assert table["text"] == [row["text"] for row in scores], table
        near(table["logprob"], [row["logprob_nats"] for row in scores])
        near(table["entropy"], [row["entropy_nats"] for row in scores])
        assert words or table["rank"].tolist() == [row["rank"] or 0 for row in scores]
    assert numpy.array_equal(model.score(texts[1], words=words)["logprob"],
                             tables[1]["logprob"], equal_nan=True)
continued = model.score("Life is", continuations=[" short", " a tale"])
near(continued["logprob"], rows("/continued.csv", "logprob_nats"))
near(continued["difference"], rows("/continued.csv", "difference_nats"))
assert continued.keys() == model.score("Life is", continuations=" short").keys()
for option in "next", "window":
    table = model.score("Life is short", **{option: 3})
    rows_of = list(csv.DictReader(open(sys.argv[1] + "/%s.csv" % option)))
    assert list(table) == list(rows_of[0]) and table["text"] == [row["text"] for row in rows_of]
    near(table["logprob" if option == "next" else "logprob_nats"],
         [row.get("logprob", row.get("logprob_nats")) for row in rows_of])
pairs = model.score(pairs=list(zip(rows("/good.csv", "good"), rows("/good.csv", "bad"))))
near(pairs["logprob_bad"], rows("/good.csv", "logprob_bad_nats"))
near(pairs["correct"], rows("/good.csv", "accuracy"))
of_program = model.score(pairs=list(zip(pairs["good"], pairs["bad"])), bits=True)
assert [of_program["good"], of_program["bad"]] == [pairs["good"], pairs["bad"]]
near(of_program["difference_bits"], pairs["difference"] / numpy.log(2))
with open(sys.argv[1] + "/pairs_of_file.csv", "w") as table:
    csv.writer(table).writerows(zip(["good", *pairs["good"]], ["bad", *pairs["bad"]]))
near(model.score(file=table.name, bits=True)["difference_bits"], of_program["difference_bits"])
edited = model.score("Life is short", edits="attn_out = 0")["logprob"]
assert not numpy.allclose(edited[1:], model.score("Life is short")["logprob"][1:])
for call in (lambda: model.score("Life i", continuations=["s"]), lambda: model.score(),
             lambda: model.score("Life is", continuations=[""])):
    try:
        call()
    except ValueError as error:
        assert "expected" in str(error), error
    else:
        raise AssertionError("a continuation that changes the text")
END
"$build/attn-cli" generate -q 'Life is' -n 9 >"$scratch/greedy"
"$build/attn-cli" generate -q 'Life is' -n 9 --temperature 0.9 --top-k 40 --seed 7 >"$scratch/drawn"
"$build/attn-cli" generate -q 'Life is' -n 9 --beams 3 >"$scratch/beams"
"$build/attn-cli" generate -q -m translate --source 'the small cat' </dev/null \
    >"$scratch/translated"
"$build/attn-cli" generate -q 'Life is' -n 3 --logprobs --format csv -o "$scratch/logprobs.csv"
check 'generated texts are those of the program' "$python" - "$scratch" <<'END'
import csv, sys
import attn, numpy
said = lambda name: open(sys.argv[1] + "/" + name).read()
model, seen = attn.Model("tiny"), []
greedy = model.generate("Life is", 9, then=seen.append)
assert "Life is" + greedy.text + "\n" == said("greedy"), greedy
assert seen == greedy["text"] and len(seen) == len(greedy["id"]) == 9
drawn = model.generate("Life is", 9, temperature=0.9, top_k=40, seed=7)
assert "Life is" + drawn.text + "\n" == said("drawn")
assert "Life is" + model.generate("Life is", 9, beams=3).text + "\n" == said("beams")
translated = attn.Model("translate").generate(source="the small cat").text
assert translated.strip() == said("translated").strip(), translated
logprobs = model.generate("Life is", 3, logprobs=True)["logprob"]
rows = list(csv.DictReader(open(sys.argv[1] + "/logprobs.csv")))
assert numpy.array_equal(logprobs, numpy.array([row["logprob"] for row in rows], numpy.float32))
assert len(model.generate("Life is", 9, then=lambda text: True)["id"]) == 1
assert model.generate(["Life is", "A cat"], 9)[0].text == greedy.text
assert model.generate("Life is", 9, edits="attn_out = 0").text != greedy.text
assert model.generate("Life is", 9).text == greedy.text
for wrong in (dict(temperature=-1), dict(top_k=3), dict(top_p=2), dict(beams=2, temperature=1)):
    try:
        model.generate("Life is", **wrong)
    except attn.Error as error:
        assert error.status == 2, error
    else:
        raise AssertionError(wrong)
END
cp -r tests/references/golden-families/marian tests/texts/tokenizers/marian/*.spm "$scratch"
mv "$scratch"/*.spm "$scratch/marian"
printf '{"</s>": 0, "<unk>": 1, "▁": 2, "t": 3, "h": 4, "e": 5, ">>fra<<": 7, "<pad>": 12}' \
    >"$scratch/marian/vocab.json"
for_marian() {
    command=$1
    shift
    "$build/attn-cli" "$command" -q -m "$scratch/marian" --source '>>fra<< the' "$@"
}
for_marian score 'the le' --words --format csv >"$scratch/words.csv"
for_marian run --align --format csv >"$scratch/own.csv"
for_marian run 'le' --show cross_weights --format tidy >"$scratch/cross.csv"
for_marian generate 'le' -n 4 --beams 3 --format csv >"$scratch/beams.csv"
printf 'good,bad\nthe le,le the\nle,the\n' |
    for_marian score -f - --format csv >"$scratch/pairs.csv"
"$build/attn-cli" score -q -m translate --source 'the small cat' le --continue ' petit' \
    --continue ' grand' --format csv >"$scratch/next.csv"
check 'a translation has the numbers of the program' "$python" - "$scratch" <<'END'
import csv, sys
import attn, numpy
def column(file, name):
    return [row[name] for row in csv.DictReader(open(sys.argv[1] + "/" + file))]
source, model = ">>fra<< the", attn.Model(sys.argv[1] + "/marian")
assert (model.counts.begin, model.counts.adds_begin) == (12, 1)
assert model.encode(source, source=True).tolist() == [7, 2, 3, 4, 5, 0]
assert model.encode("le", special=True).tolist() == [12, 1, 5, 0]
tokens, words = (model.score("the le", source=source, words=words) for words in (False, True))
assert tokens["id"].tolist() == [2, 3, 4, 5, 1, 5, 0] and not numpy.isnan(tokens["logprob"]).any()
assert numpy.allclose(words["logprob"], [float(x) for x in column("words.csv", "logprob_nats")])
run = model.run("le", "cross_weights", source=source)
cells = numpy.concatenate([run[name].ravel() for name in run])
assert numpy.array_equal(cells, numpy.array(column("cross.csv", "value"), numpy.float32))
own = model.run(source=source)
assert own.ids.tolist() == [12, *model.generate(source=source)["id"]] and len(own.ids) == 23
assert model.run(show="q", source=[source, "the"])[0].ids.tolist() == own.ids.tolist()
new = model.generate("le", 4, beams=3, source=source)
assert [*new["id"], 0] == [int(x) for x in column("beams.csv", "id")]  # the program lists the end
weights = [float(x) for x in column("own.csv", "weight")]
assert model.align(source=source)["weight"].tolist() == weights
assert attn.Model("cloze").score("The child painted", words=True)["text"][2] == "painted"
pairs = model.score(pairs=[("the le", "le the"), ("le", "the")], source=source)
more = attn.Model("translate").score("le", continuations=[" petit", " grand"],
                                     source="the small cat")
for found, name, file in ((pairs, "logprob_good", "pairs.csv"), (pairs, "logprob_bad", "pairs.csv"),
                          (more, "logprob", "next.csv")):
    assert numpy.allclose(found[name], [float(x) for x in column(file, name + "_nats")]), name
END
check 'several texts at once give the bits of each alone' "$python" - <<'END'
import attn, numpy
model = attn.Model("tiny")
texts = ["Life is short", "eat dessert first", [5, 6, 7, 8], "is"] + [[i] * 60 for i in range(30)]
runs = model.run(texts, show="all", heads="0,2")
assert len(runs) == len(texts)
for text, run in zip(texts, runs):
    alone = model.run(text, show="all", heads="0,2")
    assert list(alone) == list(run) and alone.tokens == run.tokens
    assert all(numpy.array_equal(alone[name], run[name]) for name in alone)
cross = attn.Model("life-cross")
two = cross.run(["Life is", "short"], source=["short eat", "dessert"])
for i, text in enumerate(["Life is", "short"]):
    alone = cross.run(text, source=["short eat", "dessert"][i])
    assert numpy.array_equal(two[i]["h.0.weights"], alone["h.0.weights"])
for call in (lambda: model.run([[1], [2**31]]), lambda: model.score(["Life", [2**31]])):
    try:
        call()
    except attn.Error as error:
        assert "text 1" in str(error) and "2147483648" in str(error), error
    else:
        raise AssertionError("an id outside the vocabulary")
END
check 'selected queries are rows of the whole tensors, with their positions' "$python" - <<'END'
import attn, numpy
queried = lambda tensor: not tensor.startswith(("enc.", "source_")) and not tensor.endswith(
    (".k", ".v", "_k", "_v", "k_pre"))
for name, text, source in ("tiny", "Life is short", None), ("translate", "<s> le petit", "the cat"):
    model = attn.Model(name)
    whole = model.run(text, "all", source=source)
    for query in -1, [0, 2], "0,1-", "-2--1", numpy.array([1]), "all":
        run = model.run(text, "all", source=source, query=query)
        rows = {-1: [2], "0,1-": [0, 1, 2], "-2--1": [1, 2], "all": [0, 1, 2]}.get(
            query if isinstance(query, (int, str)) else None, query)
        assert list(run) == list(whole) and run.queries.tolist() == list(rows)
        for tensor in whole:
            axis = whole[tensor].ndim - 2 if whole.axes[tensor][-1] != "token" else -1
            wanted = whole[tensor].take(rows, axis) if queried(tensor) else whole[tensor]
            assert numpy.array_equal(run[tensor], wanted, equal_nan=True), tensor
        try:
            frame, all_rows = run.frame("logits"), whole.frame("logits")
        except ImportError:
            continue
        assert frame.equals(all_rows[all_rows.row.isin(rows)].reset_index(drop=True))
lists = attn.Model("tiny").run("Life is", show=["q", "k"], layers=[1], heads=range(2))
assert {name: tensor.shape for name, tensor in lists.items()} == dict.fromkeys(
    ["h.1.q", "h.1.k"], (2, 2, 24))
many = model.run(source=numpy.array(["the cat", "a dog"]), query=-1)
assert len(model.generate(source=["the cat", "a dog"])) == 2
assert [run["h.0.weights"].shape[1] for run in many] == [1, 1]
END
check 'a page is that of the program, and a notebook shows it' "$python" - "$scratch" <<'END'
import attn, html, os, subprocess, sys
path = sys.argv[1] + "/page.html"
program = os.path.join(os.path.dirname(os.environ["LIBATTN"]), "attn-cli")
subprocess.run([program, "page", "-q", "-m", "tiny", "-s", "Life is short", "--lens", "-o", path],
               check=True)
model = attn.Model("tiny")
page, expected = model.page("Life is short", lens=True), open(path, encoding="utf-8").read()
assert page.startswith("<!") and len(page) > 10000 and abs(len(page) - len(expected)) < 500
assert page.partition("<body")[2][:2000] == expected.partition("<body")[2][:2000] != ""
shown = page._repr_html_()
assert shown.startswith("<iframe") and html.escape(page) in shown
try:
    model.page("Life is short", no_such=1)
except attn.Error as error:
    assert error.status == 2 and "'no_such'" in str(error), error
else:
    raise AssertionError("an unknown option")
END
check 'a page of weights of another program has its numbers and tokens' "$python" - <<'END'
import attn, numpy, re
run = attn.Model("tiny").run("Life is short")
layers = [run["h.%d.weights" % i][None] for i in range(2)]
pages = [attn.page(given, ["Life", "Ġis", "Ġshort"]) for given in (layers, numpy.array(layers))]
assert "_repr_html_" in dir(pages[0]) and '"title": "Life is short"' in pages[0]
values = [re.findall('"values": "([^"]*)"', page) for page in pages]
assert values[0] == values[1] and len(values[0]) >= 2 and '"--weights"' in pages[0]
assert '"layer": 0' not in attn.page(layers, layer="1").partition('"tensors"')[2][:400]
for wrong, tokens, why in ((layers, ["Life"], "expected 3 tokens"),
                           (3 * layers[0][0], None, "from 0 to 1"),
                           (layers[0][0, 0], None, "found another shape")):
    try:
        attn.page(wrong, tokens)
    except attn.Error as error:
        assert why in str(error), error
    else:
        raise AssertionError(why)
END
check 'reports of the program are tables; edits are numbers, arrays, functions' "$python" - <<'END'
import csv, os, subprocess
import attn, numpy
model = attn.Model("tiny")
program = os.path.join(os.path.dirname(os.environ["LIBATTN"]), "attn-cli")
def same(table, *words):
    out = subprocess.run([program, words[0], "-q", "-m", "tiny", *words[1:]], check=True,
                         stdout=subprocess.PIPE, encoding="utf-8").stdout
    names, *rows = csv.reader(out.splitlines())
    assert list(table) == names and all(len(column) == len(rows) for column in table.values())
    for i, row in enumerate(rows):
        for name, cell in zip(names, row):
            found = table[name][i]
            assert found == cell or (numpy.isnan(found) if not cell else found == float(cell)), name
same(model.lens("Life is short", target=" short"), "lens", "Life is short", "--target", " short",
     "--format", "csv")
same(model.lens([1, 2], edits={"h.0.mlp_out": 0}), "lens", "--ids", "1,2", "--edit",
     "h.0.mlp_out = 0", "--format", "csv")
same(model.attribute(["Life is", "the dog"], answer=" short: eat"), "attribute", "-s", "Life is",
     "-s", "the dog", "--answer", " short: eat", "--format", "tidy")
same(model.why("the dog ran", (1, 3), 1, 2, "mean"), "attribute", "the dog ran", "--head", "1.3",
     "--key", "1:mean", "--query", "2", "--format", "csv")
same(model.why("the dog ran", "1.3", "dog", by="pair"), "attribute", "the dog ran", "--head",
     "1.3", "--key", "dog", "--by", "pair", "--format", "tidy")
same(model.saliency("the dog ran", answer=" to", steps=5, baseline="mean"), "attribute", "-s",
     "the dog ran", "--by", "token", "--answer", " to", "--steps", "5", "--baseline", "mean",
     "--format", "csv")
likely = model.gradients("the dog ran", sites=["weights", "attention_gradient"])
weights = model.run("the dog ran")["h.1.weights"]
assert numpy.array_equal(likely["h.1.attention_gradient"], weights * likely["h.1.weights"])
assert likely.value == model.run("the dog ran", "logits")["logits"][-1].max()
both = model.gradients("the dog ran", answer={" to": 1, " is": -0.5}, query=1, sites="embedding")
one, other = (model.gradients("the dog ran", answer=token, query=1, sites="embedding")
              for token in (" to", " is"))
for name in "embedding", "token_rows":
    assert abs(both[name] - one[name] + 0.5 * other[name]).max() < 1e-5 * abs(one[name]).max()
assert abs(both.value - one.value + 0.5 * other.value) < 1e-5
assert model.gradients("the dog ran", " to", " is").value == \
    model.gradients("the dog ran", {" to": 1, " is": -1}).value
same(model.patch("The keys", "The key"), "patch", "--clean", "The keys", "--corrupt", "The key",
     "--format", "tidy")
same(model.patch("The keys", with_="zero", verify=2), "patch", "--clean", "The keys", "--with",
     "zero", "--verify", "2", "--format", "tidy")
same(model.examples(["the dog ran", "a cat"], channel=[3, 7], top=2), "examples", "-s",
     "the dog ran", "-s", "a cat", "--channel", "3,7", "--top", "2", "--format", "csv")
same(model.features(["the dog ran", "a cat"], "demo", top=2), "features", "-s", "the dog ran",
     "-s", "a cat", "--sae", "demo", "--top", "2", "--format", "csv")
same(model.lens("The keys", target=" are: is", sae="demo", edits="features[feature=27] = 0"),
     "lens", "The keys", "--target", " are: is", "--sae", "demo", "--edit",
     "features[feature=27] = 0", "--format", "csv")
same(model.heads("the dog ran", score=["self", "sink"]), "heads", "the dog ran", "--score",
     "self,sink", "--format", "csv")
same(model.lens("Life is", layer=numpy.array([0, 1])), "lens", "Life is", "--layer", "0,1",
     "--format", "csv")
both = model.patch(["The keys", "The boats"], ["The key", "The boat"])
for i, text in enumerate(("The key", "The boat")):
    alone = model.patch(text + "s", text)
    assert numpy.array_equal(both["value"][both["sentence"] == i], alone["value"])
texts, answers = ["The keys", "The cat"], [" are: is", " is: are"]
many = [(model.attribute(texts, answer=answers), model.attribute),
        (model.patch(texts, ["The key", "The dog"], answer=answers, position=[1, -1]),
         lambda text, **how: model.patch(text, "The dog" if "cat" in text else "The key", **how))]
for table, alone in many:
    for i, text in enumerate(texts):
        assert numpy.array_equal(table["value"][table["sentence"] == i],
                                 alone(text, answer=answers[i])["value"])
lists = [[" short", " eat"], [" is"]]
both = model.score(["Life is", "The cat"], continuations=lists)
of_program = model.score(["Life is", "The cat"], continuations=lists, bits=True)
numpy.testing.assert_allclose(numpy.concatenate([one["logprob"] for one in both]),
                              of_program["logprob_nats"], rtol=2e-7)
for table, text, more in zip(both, ("Life is", "The cat"), lists):
    numpy.testing.assert_equal(dict(model.score(text, continuations=more)), dict(table))
assert [len(one["tokens"]) for one in model.score(texts, continuations=[" a", " is"])] == [2, 2]
assert model.lens([[1, 2], "Life is"])["position"].tolist() == [0, 1] * 4
cloze, pair = attn.Model("cloze"), ["a dog", "the cat"]
for table, one, second in zip(cloze.score(pair[::-1], pair=pair), pair[::-1], pair):
    numpy.testing.assert_equal(dict(cloze.score(one, pair=second)), dict(table))
assert set(attn.Model("translate").align(source=["the cat", "a dog"])["sentence"]) == {0, 1}
same(model.compare("the dog", attention="linear"), "compare", "the dog", "--attention", "linear",
     "--format", "csv")
found = model.steer(["the dog", "a dog"], "the cat\nran", layers=[1])
last = lambda text: model.run(text, "resid_post", "1")["h.1.resid_post"][-1].astype(float)
wanted = (last("the dog") + last("a dog")) / 2 - last("the cat\nran")
assert numpy.allclose(found["h.1.resid_post"], wanted, atol=1e-4)
calls = []
def add(x):
    calls.append(x.shape)
    return x + 1
two = ["the dog", "a"]
for read in (lambda edits: [run["logits"] for run in model.run(two, "logits", edits=edits)],
             lambda edits: [one["logprob"] for one in model.score(two, edits=edits)]):
    wanted = read("h.0.resid_post + 1; h.1.mlp_out * 2")
    for edits in ({"h.1.mlp_out": lambda x: 2 * x, "h.0.resid_post": add},
                  {"h.0.resid_post +": numpy.ones(96), "h.1.mlp_out *": 2}):
        assert all(numpy.array_equal(a, b, equal_nan=True) for a, b in zip(read(edits), wanted))
assert calls == [(3, 96), (1, 96)] * 2, calls
for read in (lambda edits: model.generate("Life is", 3, logprobs=True, edits=edits),
             lambda edits: model.lens("Life is", edits=edits), lambda edits: model.attribute(
                 ["Life is", "the dog"], answer=" short: eat", edits=edits),
             lambda edits: model.patch("The keys", "The key", edits=edits),
             lambda edits: model.compare("the dog", attention="window:1", edits=edits)):
    wanted = read("resid_post[layer=0] + 1")
    for edits in {"h.0.resid_post": lambda x: x + 1}, {"h.0.resid_post + 2 *": numpy.full(96, .5)}:
        numpy.testing.assert_equal(dict(read(edits)), dict(wanted))
heads = []
model.run("Life is", "logits", edits={"context[layer=1]": lambda x: heads.append(x.shape)})
assert heads == [(4, 2, 24)], heads
for edits, kind, said in (
        ({"h.0.resid_post": lambda x: x[:, :3]}, ValueError, "a result of shape (1, 96)"),
        ({"h.0.resid_post": lambda x: x[-1]}, ValueError, "found (96,)"),
        ({"h.0.resid_post": lambda x: model.lens("a")}, attn.Error, "one report at a time"),
        ({"h.0.resid_post": lambda x: model.run("a")}, attn.Error, "in use"),
        ({"h.0.resid_post +": add}, attn.Error, "expected SITE = v0"),
        ({"h.0.weights": numpy.ones((2, 2))}, ValueError, "expected an array of shape (1, 1), f"),
        ({"h.0.resid_post": [numpy.ones((1, 96))] * 2}, ValueError, "expected one "),
        ({"h.0.resid_post": numpy.full(96, numpy.nan)}, attn.Error, "expected finite numbers"),
        ({"h.0.resid_post": numpy.ones(5)}, attn.Error, "expected a shape of [96]")):
    for read in [model.lens] * ("use" not in said) + [model.run] * ("report" not in said):
        try:
            read("Life", edits=edits)
        except kind as error:
            assert said in str(error), error
        else:
            raise AssertionError(said)
END
check 'functions and arrays edit positions, maps and each text, and know where' "$python" - <<'END'
import attn, numpy
model, texts, places = attn.Model("tiny"), ["Life is short", "is"], []
run = lambda edits, text=texts[0]: model.run(text, "resid_post,weights", edits=edits)
def same(edits, words):
    one, other = run(edits), run(words)
    assert all(numpy.array_equal(one[name], other[name]) for name in other), (edits, words)
def note(x, place):
    places.append((*place, x.shape))
    return x
def called(edits, text=texts[0]):
    places.clear()
    run({name: note for name in edits}, text)
    return sorted(places)
for site in "scores", "masked", "weights":
    for at in "", "[head=1,key=0]", "[query=-1]":
        same({f"h.0.{site}{at}": lambda x: x * 2}, f"h.0.{site}{at} * 2")
    assert called([f"h.1.{site}"]) == [
        (f"h.1.{site}", 1, 0, (head, query, 0), ("head", "query", "key"), (1, 1, query + 1))
        for head in range(4) for query in range(3)], places
same({"h.0.context[head=1]": lambda x: 0 * x}, "h.0.context[head=1] = 0")
same({"context[token=0,2]": lambda x: x + 1}, "context[token=0,2] + 1")
assert [one[3:] for one in called(["h.1.context[head=0,2-3]"])] == [
    ((head, 0, 0), ("head", "token", "dim"), (size, 3, 24)) for head, size in ((0, 1), (2, 2))]
assert [one[3] + one[5] for one in called(["h.0.mlp_out[token=0,2,channel=3-5]"])] == [
    (0, 3, 1, 3), (2, 3, 1, 3)]
assert [one[:3] for one in called(["resid_post"], texts)] == [
    (f"h.{layer}.resid_post", layer, text) for layer in (0, 1) for text in (0, 1)]
more = numpy.random.default_rng(7).random((4, 3, 3), numpy.float32)
whole = run(None)["h.0.weights"]
assert numpy.array_equal(run({"h.0.weights": more})["h.0.weights"], numpy.tril(more))
assert numpy.allclose(run({"h.0.weights + 2*": more})["h.0.weights"], numpy.tril(whole + 2 * more))
own = [numpy.full((len(model.encode(text)), 96), i + 1, numpy.float32)
       for i, text in enumerate(texts)]
for edits in {"h.0.resid_post": own}, {"h.0.resid_post": lambda x, at: own[at.text]}:
    for i, found in enumerate(run(edits, texts)):
        assert (found["h.0.resid_post"] == i + 1).all()
model.generate(texts, 2, edits={"h.0.resid_post": note})
assert [(one[2], one[3]) for one in places[-4:]] == [(0, (0, 0)), (0, (3, 0)), (1, (0, 0)),
                                                     (1, (1, 0))], places
END
check 'weights are those that make the tensors' "$python" - <<'END'
import attn, numpy
model, ends = attn.Model("tiny"), attn.Model("translate")
run, weight = model.run("Life is short", "all"), model.weight
near = lambda ours, theirs: numpy.testing.assert_allclose(ours, theirs, atol=2e-5)
near(run["ln_f"] @ weight("W_U"), run["logits"])
near(weight("W_E")[run.ids] + weight("W_pos")[:3], run["embedding"])
for name in "qkv":
    near(numpy.einsum("tc,hcd->htd", run["h.1.ln_1"], weight("h.1.W_" + name.upper()))
         + weight("h.1.b_" + name.upper())[:, None], run["h.1." + name])
near(numpy.einsum("htd,hdc->tc", run["h.1.context"], weight("h.1.W_O")) + weight("h.1.b_O"),
     run["h.1.attn_out"])
hidden = run["h.1.ln_2"] @ weight("h.1.W_in") + weight("h.1.b_in")
assert hidden.shape == run["h.1.mlp_act"].shape and ((hidden > 3) == (run["h.1.mlp_act"] > 3)).all()
near(run["h.1.mlp_act"] @ weight("h.1.W_out") + weight("h.1.b_out"), run["h.1.mlp_out"])
stream = run["h.1.resid_post"]
stream = stream - stream.mean(-1, keepdims=True)
stream = stream / numpy.sqrt(stream.var(-1, keepdims=True) + 1e-5)
near(stream * weight("ln_f.w") + weight("ln_f.b"), run["ln_f"])
for ours, theirs in (("W_U", "unembed.W_U"), ("h.1.W_O", "blocks.1.attn.W_O"),
                     ("ln_f.w", "ln_final.w"), ("h.0.W_in", "blocks.0.mlp.W_in")):
    assert (weight(ours) == weight(theirs)).all()
run = model.run("Life is", ["blocks.1.attn.hook_z", "transformer.h.1.mlp"])
assert sorted(run) == ["h.1.context", "h.1.mlp_out"]
run = ends.run("<s> le petit", "all", source="the cat")
near(numpy.einsum("tc,hcd->htd", run["enc.0.resid_pre"], ends.weight("enc.0.W_Q"))
     + ends.weight("enc.0.b_Q")[:, None], run["enc.0.q"])
near(numpy.einsum("htd,hdc->tc", run["h.0.cross_context"], ends.weight("h.0.cross_W_O"))
     + ends.weight("h.0.cross_b_O"), run["h.0.cross_out"])
for name, said in (("W_X", "expected one of W_E, W_pos, W_U"), ("h.9.W_Q", "a layer below 2"),
                   ("W_Q", "expected 'h.LAYER.W_Q'"), ("h.0.W_E", "expected 'W_E', since no layer"),
                   ("h.0.W_gate", "the model has no such weight"),
                   ("enc.0.W_Q", "the model has no such weight"),
                   ("blocks.2.attn.W_Q", "a layer below 2")):
    try:
        weight(name)
        raise AssertionError(name)
    except attn.Error as error:
        assert error.status == 2 and said in str(error), error
END
"$build/attn-cli" run '的中文, is it is' --query '@中,@is/2' --format json --show q -q \
    -o "$scratch/named.json"
check 'positions have names' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
model, texts = attn.Model("tiny"), ["Life is short", "short Life"]
at = lambda text, name: model.run(text, "q", query=name).queries.tolist()
assert [at(text, "@Life") for text in texts] == [[0], [3]] and at(texts[0], "0,@short") == [0, 2]
rows = numpy.array(json.load(open(sys.argv[1] + "/named.json"))["tensors"]["h.0.q"], numpy.float32)
assert numpy.array_equal(model.run("的中文, is it is", "q", query="@中,@is/2")["h.0.q"], rows)
named = model.run(texts, "resid_post", edits={"h.0.context[token=@Life]": 0}, query="@Life")
for text, place, found in zip(texts, (0, 3), named):
    wanted = model.run(text, "resid_post", edits="h.0.context[token=%d] = 0" % place, query=place)
    assert numpy.array_equal(found["h.1.resid_post"], wanted["h.1.resid_post"])
for call, kind, said in (
        (lambda: at("is is", "@is"), ValueError, "once, or @is/2 for its second, found 2"),
        (lambda: at("Life is", "@li"), ValueError, "found 0 of 'li'"),
        (lambda: at([1, 2], "@is"), ValueError, "expected a text, since names are words"),
        (lambda: model.score("Life is", edits="attn_out[token=@is] = 0"), attn.Error,
         "edits: expected numbers of tokens, found a name")):
    try:
        call()
        raise AssertionError(said)
    except kind as error:
        assert said in str(error), error
END
check 'results can be copied and pickled; a model is refused after a fork' "$python" - <<'END'
import copy, os, pickle
import attn, numpy
model = attn.Model("tiny")
run, table = model.run("Life is short", show="weights,logits"), model.score("Life is short")
for made in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run), copy.copy(run)):
    assert type(made) is attn.Run and list(made) == list(run) and made.tokens == run.tokens
    assert numpy.array_equal(made["h.0.weights"], run["h.0.weights"])
    assert made.axes == run.axes and made.heads == run.heads and made.layers == run.layers
    try:
        made.frame()
    except (ValueError, ImportError) as error:
        assert "vocabulary" in str(error) or "pandas" in str(error), error
generated = model.generate("Life is", 3)
assert pickle.loads(pickle.dumps(generated)).text == generated.text
assert list(pickle.loads(pickle.dumps(table))) == list(table)
cache = model.cache()
cache.step("Life")
child = os.fork()
if not child:
    try:
        for call in (lambda: model.run("Life"), lambda: cache.step(" is"), model.cache):
            try:
                call()
            except ValueError as error:
                assert "another process" in str(error), error
            else:
                os._exit(1)
        fresh = attn.Model("tiny").run("Life is short")["h.1.weights"]
        model.close()
        os._exit(0 if numpy.array_equal(fresh, run["h.1.weights"]) else 2)
    finally:
        os._exit(3)
assert os.waitpid(child, 0)[1] == 0
assert len(cache.step(" is")) == 1 and len(model.run("Life")) == 2
END
check 'errors have the status of the program' "$python" - <<'END'
import attn
for call, status in ((lambda: attn.Model("no/such"), 3),
                     (lambda: attn.Model("tiny").run("a", show="nothing"), 2),
                     (lambda: attn.Model("life").score("Life is"), 4)):
    try:
        call()
    except attn.Error as error:
        assert error.status == status, error
    else:
        raise AssertionError(status)
END
# Without LIBATTN the library is looked for in folders.
soname=$(basename "$(readlink "$LIBATTN")")
mkdir "$scratch/alone"
cp lib/bindings/python/attn.py "$scratch/alone"

alone() { # [VARIABLE=VALUE...]: prints the path of the library, or the error
    (cd / && env -u LIBATTN -u LD_LIBRARY_PATH PYTHONPATH="$scratch/alone" HOME="$scratch/home" \
        "$@" "$python" -c 'import attn; print(attn._library._name)' 2>&1 | tail -n 1)
}

found_in() { # FOLDER
    mkdir -p "$1" && ln -s "$LIBATTN" "$1/$soname" || return
    alone | grep -Fx "$1/$soname"
    found=$?
    rm "$1/$soname"
    return "$found"
}

# The message is one line that names the folders and the way out.
says_where() {
    alone >"$scratch/said"
    cat "$scratch/said"
    for part in "ImportError: expected $soname in $scratch/alone, " " $scratch/home/.local/lib, " \
        "'make install PREFIX=\$HOME/.local' installs it, or set LIBATTN to its path"; do
        grep -F -- "$part" "$scratch/said" || return
    done
}

says_what() {
    alone LIBATTN="$scratch/none" |
        grep -F "ImportError: LIBATTN: cannot load '$scratch/none': $scratch/none: cannot open"
}

check 'the library is found beside attn.py' found_in "$scratch/alone"
check 'a file that LIBATTN names and that cannot be loaded is named' says_what
if alone | grep -q "$soname\$"; then
    leave_out 'libattn is installed on this system'
else
    check 'the library is found in ~/.local/lib' found_in "$scratch/home/.local/lib"
    check 'without a library the message says where it was looked for' says_where
fi
check 'arguments that C would truncate or wrap are refused' "$python" - <<'END'
import attn, numpy
model = attn.Model("tiny")
cache = model.cache()
for call, expected, text in (
        (lambda: model.run([2**32 + 5]), ValueError, "an id: expected a number from 0 to 4294"),
        (lambda: model.score(numpy.array([1, -1])), ValueError, "found -1"),
        (lambda: cache.step([2**70]), ValueError, "an id"),
        (lambda: model.run([5.9]), TypeError, "a whole number, found 5.9"),
        (lambda: model.run([float("nan")]), TypeError, "found nan"),
        (lambda: model.run(numpy.array([[1, 2]])), ValueError, "found an array of shape (1, 2)"),
        (lambda: model.run("Life", source=[1.5]), TypeError, "found 1.5"),
        (lambda: model.token(2**32 + 5), ValueError, "an id"),
        (lambda: model.generate("Life", 0), ValueError, "expected a number from 1 to 1000000, f"),
        (lambda: model.generate(""), attn.Error, "'tiny': expected a text, since field"),
        (lambda: model.heads([]), ValueError, "heads: expected a text or ids, found []"),
        (lambda: model.score(pairs=[]), ValueError, "expected at least one of pairs, found []"),
        (lambda: model.score("a", continuations=[]), ValueError, "at least one of continuations"),
        (lambda: model.generate(None), TypeError, "expected a text or ids, found None"),
        (lambda: model.lens("Life", output="a.csv"), ValueError, "expected no output, found 'a.c"),
        (lambda: model.lens("Life", format="json"), ValueError, "expected no format, found 'js"),
        (lambda: model.page("Life", output="a.html"), ValueError, "'attn-cli page' writes files"),
        (lambda: model.lens("Life", target=[" is", " a"]), ValueError, "target: expected one v"),
        (lambda: model.attribute(["a", "b"], answer=[" a"]), ValueError, "or a list of 2, found 1"),
        (lambda: model.score(["a", "b"], continuations=[[" a"]]), ValueError, "or a list of 2"),
        (lambda: model.score(pairs=["ab", "cd"]), TypeError, "a good and a bad text, found 'ab'"),
        (lambda: model.patch(["a", "b"], ["c"]), ValueError, "expected as many corrupt as clean"),
        (lambda: model.run("Life", query="1"), ValueError, "query: expected numbers from 0 to 0"),
        (lambda: model.encode(5), TypeError, "expected str, found int"),
        (lambda: attn.Model("tiny", threads=2**64 + 1), ValueError, "threads: expected a number"),
        (lambda: attn.Model("tiny", packing=-1), ValueError, "packing: expected a number"),
        (lambda: attn.Model("tiny\0more"), ValueError, "a model: expected no NUL character"),
        (lambda: model.run([1], edits="attn_out = 2\0"), ValueError, "edits: expected no NUL"),
        (lambda: model.run([1], show="k\0nothing"), ValueError, "show: expected no NUL")):
    try:
        call()
    except expected as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
assert model.run(numpy.array([1, 2], numpy.uint64)).ids.tolist() == [1, 2]
END
check 'texts of tokens are looked up when they are asked for, once' "$python" - <<'END'
import attn, numpy
model, asked = attn.Model("tiny"), []
token, sixth = model.token, model.token(6)
model.token = lambda number: asked.append(number) or token(number)
try:
    model.run([1] * 1000000)
except attn.Error as error:
    assert error.status == 3 and "the text is too long" in str(error), error
else:
    raise AssertionError("a text beyond the context")
given = numpy.array([367, 274, 334, 274], numpy.uint32)
run = model.run(given)
cache = model.cache()
steps = [cache.step(part) for part in ([367, 274], [334])]
given[:] = 1
assert not asked, asked
assert run.tokens == ["Life", " is", " short", " is"] and asked == [367, 274, 334], asked
assert run.tokens is run.tokens and run.ids.tolist() == [367, 274, 334, 274]
gone = model.run([5])
del gone
later = model.run([6])
model.close()
assert asked == [367, 274, 334, 6], asked
assert steps[1].tokens == [" short"] and later.tokens == [sixth], later.tokens
END
check 'packed weights give the same bits' "$python" - <<'END'
import attn, numpy
ids = [[1, 2, 3, 4, 5, 6], [7, 8, 9]]
plain, packed = attn.Model("tiny", packing=0), attn.Model("tiny")
for text in ids * 3:
    one, other = (model.run(text, show="all") for model in (plain, packed))
    assert list(one) == list(other)
    assert all(numpy.array_equal(one[name], other[name]) for name in one)
    assert numpy.array_equal(plain.score(text)["logprob"], packed.score(text)["logprob"],
                             equal_nan=True)
END
check 'messages, signatures and synonyms have the names of arguments of Python' "$python" - <<'END'
import inspect, pickle, subprocess, os
import attn, numpy
program = os.path.join(os.path.dirname(os.environ["LIBATTN"]), "attn-cli")
version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, encoding="utf-8").stdout
assert attn.__version__ == version.split("\n")[0].split()[-1], attn.__version__
assert all(hasattr(attn, name) for name in attn.__all__) and "numpy" not in attn.__all__
model = attn.Model("tiny")
assert repr(model) == "<attn.Model 'tiny': 2 layers, 4 heads, 96 channels, 1280 words>", model
cache = model.cache()
cache.step("Life is")
assert repr(cache) == "<attn.Cache of 'tiny': 2 tokens>", cache
for call, kind, said in (
        (lambda: model.run(None), TypeError, "run: expected a text or ids, found None"),
        (lambda: model.lens(None), TypeError, "lens: expected a text or ids, found None"),
        (lambda: model.run({"a": 1}), TypeError, "an id: expected a whole number, found {'a': 1}"),
        (lambda: model.lens("Life", layrs=1), attn.Error, "argument 'layrs': did you mean 'layers"),
        (lambda: model.lens("Life", foo=1), attn.Error, "'foo': help(attn.Model.lens) lists them"),
        (lambda: model.lens("Life", layers=9), attn.Error, "layers: expected numbers from 0 to 1"),
        (lambda: model.run("Life", heads=9), attn.Error, "heads: expected numbers from 0 to 3"),
        (lambda: model.patch("The keys", with_="zeros"), attn.Error, "with_: expected one of"),
        (lambda: model.compare("Life"), attn.Error, "attention: expected patterns to compare"),
        (lambda: model.patch(["The keys", "The dogs"], ["The key", "The dog"]), attn.Error,
         "clean[1]: expected texts of equal length"),
        (lambda: model.attribute(["a", "The"], answer=[" is", " q: r"]), attn.Error, "text[1]: "),
        (lambda: model.steer([], ["a"]), attn.Error, "positive: expected a sentence"),
        (lambda: attn.page([[1.0]]), attn.Error, "found another shape in 'attentions'"),
        (lambda: model.saliency("Life is", answer={" a": 2}), ValueError, "only gradients takes"),
        (lambda: model.lens("Life", layer=1, layers=1), TypeError, "expected one of them"),
        (lambda: model.run("Life", layer=1, layers=1), TypeError, "expected one of them")):
    try:
        call()
    except kind as error:
        assert said in str(error) and "--" not in str(error) and "/" not in str(error), error
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) and vars(again) == vars(error)
    else:
        raise AssertionError(said)
same = lambda one, other: numpy.testing.assert_equal(dict(one), dict(other))
same(model.run("Life is", layer=0, head=[1]), model.run("Life is", layers=0, heads=[1]))
same(model.lens("Life is", layer=0), model.lens("Life is", layers=0))
same(model.gradients("Life is", layer=0), model.gradients("Life is", layers=0))
texts, answer = ["The keys", "The key"], {" are": 1, " is": -1}
for text, found in zip(texts, model.gradients(texts, answer=answer)):
    same(found, model.gradients(text, answer=" are: is"))
    same(found, model.gradients(text, answer=" are", against=" is"))
ids = {int(model.encode(token)[0]): weight for token, weight in answer.items()}
for asked in answer, ids, dict(reversed(answer.items())):
    same(model.saliency("The keys", answer=asked), model.saliency("The keys", answer=" are: is"))
same(model.attribute(texts, answer=[answer] * 2), model.attribute(texts, answer=" are: is"))
for name, some in (("lens", ["layers", "target", "from_"]), ("patch", ["over", "with_"]),
                   ("why", ["by"]), ("score", ["window", "temperature"]), ("page", ["palette"])):
    names = inspect.signature(getattr(attn.Model, name)).parameters
    assert set(some) <= set(names) and not {"options", "output", "model"} & set(names), names
assert list(inspect.signature(attn.Model.run).parameters)[:4] == ["self", "text", "show", "layers"]
END
check 'a closed model raises; close waits for running calls' "$python" - <<'END'
import threading
import attn
model = attn.Model("tiny")
cache = model.cache()
cache.step([1, 2])
refused, begun = [], threading.Semaphore(0)

def use():
    try:
        while True:
            model.run(list(range(60)), show="all")
            begun.release()
    except ValueError as error:
        refused.append(str(error))

threads = [threading.Thread(target=use) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(8):
    begun.acquire()
model.close()
model.close()
for thread in threads:
    thread.join()
assert refused == ["the model is closed"] * 2, refused
for call in (lambda: cache.step([3]), lambda: model.token(1), lambda: model.encode("Life"),
             lambda: model.score([1, 2]), model.cache):
    try:
        call()
    except ValueError as error:
        assert str(error) == "the model is closed", error
    else:
        raise AssertionError(call)
cache.close()
END
check 'a model and a cache refuse to be copied and pickled, and stay usable' "$python" - <<'END'
import copy, pickle
import attn
model = attn.Model("tiny")
cache = model.cache()
for call in (copy.copy, copy.deepcopy, pickle.dumps):
    for opened, kind in ((model, "model"), (cache, "cache")):
        try:
            call(opened)
        except TypeError as error:
            assert str(error) == f"a {kind} cannot be copied or pickled: open another one", error
        else:
            raise AssertionError((call, kind))
assert len(model.score([1, 2, 3])["id"]) == 3 and len(cache.step([1])) == 1
cache.close()
model.close()
END
check 'a signal handler may close the model' "$python" - <<'END'
import signal
import attn
model = attn.Model("tiny")

def close(*_):
    try:
        model.run([1])
    except attn.Error as error:
        assert error.status == 2 and "in use" in str(error), error
        model.close()
        signal.setitimer(signal.ITIMER_REAL, 0)

signal.signal(signal.SIGALRM, close)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.5)
try:
    while True:
        model.run(list(range(60)), show="all")
except ValueError as error:
    assert str(error) == "the model is closed", error
END
check 'an exception of a signal handler comes from the call that it ends' "$python" - <<'END'
import random, signal, sys
import attn
model, missed = attn.Model("tiny"), []
sys.unraisablehook = missed.append
signal.signal(signal.SIGALRM, signal.default_int_handler)
for i in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003 + random.Random(i).random() * 0.002)
        for _ in range(50):
            model.run("Life is short, eat", show="all", edits={"h.0.resid_post": lambda x: x})
        left = signal.setitimer(signal.ITIMER_REAL, 0)[0]
        for _ in range(10):
            pass  # a signal that has just come raises here
        assert left > 0, "a signal was lost"
    except KeyboardInterrupt:
        pass
assert not missed and sys.unraisablehook == missed.append, missed
END
check 'a child forked during a report of another thread makes its own' "$python" - <<'END'
import os, signal, threading
import attn
model, wanted = attn.Model("tiny"), attn.Model("tiny").lens("Life")
def report():
    while not ended:
        model.heads(["Life is short, eat dessert first"] * 3, score="all")
        begun.set()
ended, begun = [], threading.Event()
thread = threading.Thread(target=report)
thread.start()
begun.wait()
child = os.fork()
if not child:
    signal.alarm(int(os.environ["HANG"]))
    os._exit(0 if attn.Model("tiny").lens("Life")["kl"].tolist() == wanted["kl"].tolist() else 1)
status = os.waitpid(child, 0)[1]
ended.append(True)
thread.join()
assert status == 0, status
END
check 'segments are numbers, one for each id' "$python" - <<'END'
import attn, numpy
model = attn.Model("cloze")
ids = model.encode("the cat", pair="the cat")
given, run = ids.segments, lambda: model.run(ids, "logits")
wanted = run()
for ids.segments in given.astype(int), given.tolist(), given[::-1][::-1], given.astype(bool):
    assert numpy.array_equal(run()["logits"], wanted["logits"])
assert wanted.ids.segments.tolist() == given.tolist()
for ids.segments in given[:1], given + 0.5, -given.astype(int), given[None]:
    try:
        run()
        raise AssertionError(ids.segments)
    except ValueError as error:
        assert "segments: expected 7 numbers from 0 to 255" in str(error), error
END
blocks() { # LANGUAGE DOCUMENT...
    language=$1
    shift
    awk -v start="\`\`\`$language" '/^```/ { inside = $0 == start; next } inside' "$@"
}

blocks python data/guides/library.md data/guides/python.md >"$scratch/guide.py"
"$python" -c 'import pandas' 2>/dev/null ||
    sed -i '/[.]frame()/d; /[.]groupby(/d' "$scratch/guide.py"
check 'the guide runs' "$python" "$scratch/guide.py"
! "$python" -c 'import pandas' 2>/dev/null ||
    check 'the laboratory runs' "$python" data/guides/laboratory.py tiny
# The model of lm-evaluation-harness, compared with its own `hf` model and with score().
if harness=$(python_with 'lm_eval, accelerate, transformers'); then
    check 'lm-evaluation-harness has the numbers of its hf model and of score' \
        env HF_HUB_OFFLINE=1 "$harness" -W ignore - models/tiny <<'END'
import sys
import attn, attn_lm_eval, lm_eval.models
from lm_eval.api.instance import Instance
from lm_eval.api.registry import get_model
asked = [(context, more) for context in ("Life is", "A cat sees the ", "The small dog and")
         for more in (" short", " the cat, and the cat runs", " a")] + [("Life is " * 60, "short")]
make = lambda kind, arguments: [Instance(request_type=kind, doc={}, arguments=one, idx=i)
                                for i, one in enumerate(arguments)]
ours = get_model("attn")(model=sys.argv[1], max_length=60)
theirs = get_model("hf")(pretrained=sys.argv[1], dtype="float32", device="cpu", max_length=60)
scored = ours.loglikelihood(make("loglikelihood", asked))
for (logprob, greedy), other, (context, more) in zip(
        scored, theirs.loglikelihood(make("loglikelihood", asked)), asked):
    assert abs(logprob - other[0]) < 1e-3 and greedy == other[1], (logprob, other, context, more)
assert any(greedy for _, greedy in scored) and not all(greedy for _, greedy in scored)
alone = ours.model.score("Life is", continuations=[" short"])["logprob"][0]
assert abs(scored[0][0] - alone) < 1e-6, (scored[0], alone)
# Without a beginning token, any token can stand for it.
ours.model.counts.begin = 5
type(theirs).prefix_token_id = 5
texts = [("Life is short, eat dessert first",), ("Life is short. " * 60,)]
rolled = ours.loglikelihood_rolling(make("loglikelihood_rolling", texts))
for logprob, other in zip(rolled, theirs.loglikelihood_rolling(
        make("loglikelihood_rolling", texts))):
    assert abs(logprob - other) < 1e-3 * max(1, abs(other) / 100), (logprob, other)
alone = ours.model.score(texts[0][0], begin=True)["logprob"].sum(dtype=float)
assert abs(rolled[0] - alone) < 1e-6, (rolled, alone)
until = make("generate_until", [("Life is", {"until": [","], "max_gen_toks": 9})])
assert ours.generate_until(until) == [" short"]
END
else
    leave_out 'lm_eval with accelerate and transformers is not installed'
fi
if "$python" -c 'import pandas' 2>/dev/null; then
    frames 'Life is short' -m tiny
    frames '  Caf, "eat" 1' -m tiny --show logits,weights,k
    frames 'Life is' -m life-cross --source 'short eat'
    frames 'le chat' -m translate --source 'the small cat' --show all
    frames 'Life is short' -m life-grouped --show weights,k,v
    check 'a frame of a step has absolute rows and all keys' "$python" - <<'END'
import attn
model = attn.Model("tiny")
whole = model.run("Life is short, eat", show="weights,k").frame()
cache, ids = model.cache(), model.encode("Life is short, eat")
cache.step(ids[:3], show="weights")
steps = cache.step(ids[3:], show="weights,k").frame()
expected = whole[whole.row >= 3].reset_index(drop=True)
keys = list(expected.columns[:-1])
both = expected.merge(steps, on=keys, how="left")
assert len(steps[steps.tensor == "weights"]) == len(expected[expected.tensor == "weights"]) > 0
assert (both.value_x == both.value_y).all(), both[both.value_x != both.value_y]
END
else
    leave_out 'pandas is not installed'
fi
closing
