#!/bin/sh
# Other tools read the files: pandas, numpy, safetensors, PyTorch, R, gnuplot, pandoc, jq. Each is
# skipped if it is not installed.
#
#     sh tests/readers/readers.sh [BUILD]
#     SEEDS=1 sh tests/readers/readers.sh build      random shapes: one of each family, not three
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
ROOT=$(pwd)
attn=$(absolute "${1:-build}/attn-cli")
cd "$scratch" || exit 1

# shellcheck source=tests/cli/recipes.sh
. "$ROOT/tests/cli/recipes.sh"

skip() { # TOOL
    leave_out "$1 is not installed"
}

# --- files ----------------------------------------------------------------------------------------

life='Life is short eat dessert first'
"$attn" run -m life -s "$life" -o life.csv
"$attn" run -m life -s "$life" -o life.tidy.csv
"$attn" run -m life -s "$life" --layer all --format excel --locale de_DE -o german.csv
"$attn" run -m life -s "$life" --layer all --format csv -o english.csv
"$attn" run -m life -s "$life" --format markdown -o life.md
"$attn" tokenize '|a| *b* _c_ <i>' -m tiny -o marks.md
"$attn" run -m life -s "$life" --show weights -o life.npy
"$attn" run -m life -s "$life" --show q,weights -o life.safetensors
"$attn" run -m life -s "$life" --show q,weights --names transformerlens --format npz |
    cat >life.npz
"$attn" run -m life -s "$life" -s 'Life is' -o life.json
"$attn" run -m life -s "$life" -s 'Life is' -o life.jsonl
"$attn" run -m life-causal -s 'Life is Life' --show masked -o causal.csv
"$attn" run -m life-causal -s 'Life is Life' --show masked -o causal.npy
"$attn" run -m life-causal -s 'Life is Life' --show masked -o causal.json
"$attn" run -m life-4-heads -s 'Life is short' -o heads.csv
"$attn" run -s 'Life is short' -o layers.csv
"$attn" run -m life -s 'Life is' -s "$life" --show context -o sentences.csv
printf '%s\n' 'id;side;score;sentence' 'a;left;4.5;Life is short' 'b;"ri;ght";;Life is' \
    'c;left;2;is Life' >items.csv
"$attn" batch items.csv -m life --show tokens -q -o items.jsonl
"$attn" init --shape tiny -s "$life" -o fresh
"$attn" init --shape tiny --set n_head=12 -s "$life" -o twelve -q
"$attn" heads -m twelve --composition k -o pairs.csv
"$attn" heads -m twelve --composition k -o pairs.tidy.csv
"$attn" heads -m twelve -s "$life" --format tidy -q -o scores.tidy.csv
"$attn" attribute -m twelve -s "$life" --answer :is -q -o parts.tidy.csv
echo 'Life is short' >texts
"$attn" batch texts -m twelve --do score --sweep ablate=0.1,0.10 -q -o ablated.csv
"$attn" patch -m twelve --clean 'Life is short' --corrupt 'Life is first' --answer :is -q \
    -o patch.tidy.csv
word_model marks '[",", "\"", "\n", "我", "NA", "#"]' 6
"$attn" run -m marks -s ',"
我NA#' -o marks.csv
"$attn" run -m marks -s ',"
我NA#' -o marks.tidy.csv

printf '%s\n' 'item,condition,text,regions' '1,a,Life is | “short”,x|y' \
    '1,b,The cat | sat down,x|y' '2,a,,' >stimuli.csv
"$attn" score -q -f stimuli.csv --words --bits -o words.csv
"$attn" score -q -f stimuli.csv --words --per condition -o means.csv
printf '%s\n' 'kind,good,bad' 'x,The cat sat.,The cat sat sat.' 'y,cat The,The cat' >minimal.csv
"$attn" score -q -f minimal.csv -o accuracy.csv

# --- readers --------------------------------------------------------------------------------------
# Files: the example's numbers; -inf and a repeated token; quotes and other special characters.

if python=$(python_with pandas); then
    same pandas '6 6 0.6870 0:Life 5:first
-inf 0:Life 1:is 2:Life
0:, 1:" 2:↵ 3:我 4:NA 5:#
24 7 1:␣is 2:␣short 0.9913 3.000000
8 9 1 6
36 8 1.000000 1.000000
,|"|
|我|NA|#
2 7 Life is 4
left 4.5 ri;ght nan left 2
24 L0H1 L0H10 288 24 48 24
8 2.0 True True 3.0 1
a 3 b 4 0.50 2
L0H1 L0H10' "$("$python" - <<'END' 2>&1
import pandas
life, causal, marks = (pandas.read_csv(name + ".csv", index_col=0)
                       for name in ("life", "causal", "marks"))
print(*life.shape, "%.4f" % life.loc["1:is", "1:is"], life.columns[0], life.index[5])
print(causal.iloc[0, 1], *causal.index)
print(*marks.columns)
layers = pandas.read_csv("layers.csv")
head = layers[(layers.layer == 1) & (layers["head"] == 1)].set_index("row").iloc[:, 3:]
print(*layers.shape, head.index[1], head.columns[2], "%.4f" % head.loc["1:␣is", "0:Life"],
      "%.6f" % head.sum(axis=1).sum())
sentences = pandas.read_csv("sentences.csv")
print(*sentences.shape, sentences.sentence[2], sentences.groupby("sentence").size()[1])
assert pandas.read_csv("german.csv", sep=";", decimal=",").equals(pandas.read_csv("english.csv"))
tidy = pandas.read_csv("life.tidy.csv")
sums = tidy.groupby(["tensor", "layer", "head", "row"]).value.sum()
print(*tidy.shape, "%.6f %.6f" % (sums.min(), sums.max()))
print(*pandas.read_csv("marks.tidy.csv", keep_default_na=False).row_token.unique(), sep="|")
lines = pandas.read_json("life.jsonl", lines=True)
print(*lines.shape, lines.sentence[1], lines.tokens[1][1]["id"])
items = pandas.read_json("items.jsonl", lines=True)
items = pandas.json_normalize(items["columns"])
print(*items[["side", "score"]].values.ravel())
pairs = pandas.read_csv("pairs.csv", index_col=0)
scores, tidy, parts, patch = (pandas.read_csv(name + ".tidy.csv")
                              for name in ("scores", "pairs", "parts", "patch"))
scores = scores[scores.column_token == "entropy"][["layer", "head", "value"]]
merged = [len(table.dropna(subset=["layer", "head"]).merge(scores, on=["layer", "head"]))
          for table in (tidy[tidy["row"] < 12], parts, patch)]
print(pairs.index.nunique(), pairs.index[1], pairs.columns[10], *merged,
      tidy.row_token.nunique())
words, means, accuracy = map(pandas.read_csv, ("words.csv", "means.csv", "accuracy.csv"))
texts = {0: "Life is “short”", 1: "The cat sat down"}
places = [texts[row.sentence].encode()[int(row.start):int(row.end)].decode() == row.attn_text
          for row in words.dropna(subset="attn_text").itertuples()]
sums = words.groupby(["condition", "position"]).surprisal_bits.mean().unstack(0)
print(len(words), words.subwords.min() + 1, all(places),
      (abs(sums.a - means["surprisal_nats:a"] / 0.6931472) < 1e-4).iloc[1:3].all(),
      words.position.max(), words.attn_text.isna().sum())
counts = words.groupby("condition").attn_text.count()
print(*[value for pair in counts.items() for value in pair],
      "%.2f" % accuracy.accuracy.mean(), accuracy.accuracy.isin([0, 1]).sum())
print(*pandas.read_csv("ablated.csv").ablate.unique())
END
    )"
else
    skip pandas
fi

if python=$(python_with numpy); then
    same numpy '(1, 6, 6) float32 0.6870 True True
[-inf, -inf]
True
result blocks.0.attn.hook_q blocks.0.attn.hook_pattern
True attn-cli/result/2
True (1, 6, 1, 2) True' "$("$python" - <<'END' 2>&1
import json, numpy
life = numpy.load("life.npy", mmap_mode="r")
print(life.shape, life.dtype, "%.4f" % life[0, 1, 1], life.flags["C_CONTIGUOUS"],
      life.offset % 64 == 0)
print([float(numpy.load("causal.npy")[0, row, row + 1]) for row in (0, 1)])
table = numpy.genfromtxt("life.csv", delimiter=",", skip_header=1, dtype=numpy.float32)
print((table[:, 1:] == life[0]).all())
cache = numpy.load("life.npz")
print(*cache.files)
print(all(isinstance(cache[name], numpy.ndarray) for name in cache),
      json.loads(cache["result"].item())["format"])
print((cache["blocks.0.attn.hook_pattern"][0] == life).all(),
      cache["blocks.0.attn.hook_q"].shape, cache.zip.testzip() is None)
END
    )"
else
    skip numpy
fi

if python=$(python_with safetensors.numpy); then
    same safetensors "['h.0.q', 'h.0.weights'] (1, 6, 6) 0.6870
$life
28 (96, 288) {'format': 'pt'}" "$("$python" - <<'END' 2>&1
import json
import safetensors
with safetensors.safe_open("life.safetensors", "numpy") as file:
    weights = file.get_tensor("h.0.weights")
    print(sorted(file.keys()), weights.shape, "%.4f" % weights[0, 1, 1])
    print(json.loads(file.metadata()["result"])["sentence"])
with safetensors.safe_open("fresh/model.safetensors", "numpy") as file:
    print(len(file.keys()), file.get_tensor("h.1.attn.c_attn.weight").shape, file.metadata())
END
    )"
else
    skip "Python's safetensors"
fi

# PyTorch's normal random numbers have these bits only with AVX2.
if python=$(python_with 'torch; assert "usage: AVX" in torch.__config__.show()'); then
    same 'weights that init and PyTorch make' '' \
        "$("$python" "$ROOT/tests/references/torch/compare.py" "$attn" 2>&1)"
    same 'values of the instruments' agreed \
        "$("$python" "$ROOT/tests/references/torch/instruments.py" 2>&1 >/dev/null && echo agreed)"
else
    skip PyTorch
fi
if python=$(python_with 'torch, safetensors; assert "usage: AVX" in torch.__config__.show()'); then
    same 'JinaBERT in PyTorch' '4 models agree' \
        "$("$python" "$ROOT/tests/references/torch/jina.py" "$attn" 2>/dev/null)"
else
    skip "PyTorch with Python's safetensors"
fi
if python=$(python_with 'torch, transformers'); then
    same "transformers' heads of classes and of contacts" 'models agree' \
        "$("$python" "$ROOT/tests/references/torch/classes.py" "$attn" 2>/dev/null |
            sed 's/^[0-9]* m/m/')"
    same 'models of random shape and those of transformers' 'models agree' \
        "$("$python" "$ROOT/tests/references/torch/shapes.py" "$attn" "${SEEDS:-1-3}" 2>/dev/null |
            sed 's/^[1-9][0-9]* m/m/')"
else
    skip transformers
fi

if command -v Rscript >/dev/null; then
    # Without TMPDIR: R does not work if that path has a blank.
    cat >read.R <<'END'
read <- function(name) read.csv(name, row.names = 1, check.names = FALSE)
life <- read("life.csv")
causal <- read("causal.csv")
tidy <- read.csv("life.tidy.csv")
marks <- read.csv("marks.tidy.csv", na.strings = "")
say <- function(...) cat(paste(c(...), collapse = "|"), "\n", sep = "")
say(dim(life), round(life["1:is", "1:is"], 4), colnames(life)[1], rownames(life)[6])
say(causal[1, 2], class(causal[[3]]), rownames(causal))
say(colnames(read("marks.csv")))
layers <- read.csv("layers.csv", check.names = FALSE)
head <- subset(layers, layer == 1 & head == 1)
say(dim(layers), head$row[2], round(head[2, "0:Life"], 4), round(sum(head[, -(1:4)]), 6))
say(dim(tidy), round(tapply(tidy$value, tidy$row, sum), 6))
say(unique(marks$row_token), any(is.na(marks$row_token)))
pairs <- read("pairs.csv")
say(length(unique(rownames(pairs))), rownames(pairs)[2], colnames(pairs)[11],
    dim(unique(read.csv("pairs.tidy.csv")[, c("layer", "head")])))
words <- read.csv("words.csv")
say(nrow(words), sum(is.na(words$surprisal_bits)), sum(words$attn_text == "“short”"),
    names(read.csv("means.csv", check.names = FALSE))[5],
    mean(read.csv("accuracy.csv")$accuracy))
END
    same R '6|6|0.687|0:Life|5:first
-Inf|numeric|0:Life|1:is|2:Life
0:,|1:"|2:↵|3:我|4:NA|5:#
24|7|1:␣is|0.9913|3
36|8|1|1|1|1|1|1
,|"|
|我|NA|#|FALSE
24|L0H1|L0H10|24|2
8|3|1|surprisal_nats:b|0.5' "$(env -u TMPDIR Rscript --vanilla read.R 2>&1)"
else
    skip R
fi

if command -v gnuplot >/dev/null; then
    plot() { # TERMINAL WHAT: with the commands of README.md and lib/write/csv.h
        gnuplot -e "set datafile separator comma; $1; plot $2 with image" 2>&1
    }
    cells() { # COLUMN ROW: prints the number of plotted cells, and this cell
        awk -v column="$1" -v row="$2" '
            $4 == "i" { count++ }
            $1 == column && $2 == row { cell = $3 }
            END { print count, cell }' table
    }
    plot "set table 'table'" '"life.csv" matrix rowheaders columnheaders' >plain
    same 'gnuplot, numbers' '36 0.687006' "$(cells 1 1)"
    head='"< grep -e ^tensor -e ^weights,0,3, heads.csv | cut -d, -f4-"'
    plot "set table 'table'" "$head matrix rowheaders columnheaders" >>plain
    same 'gnuplot, one of several heads' '9 0.919374' "$(cells 1 1)"
    plot 'set terminal dumb 120 30' '"life.csv" matrix rowheaders columnheaders' >page
    same 'gnuplot, labels of both axes' '1:is 1:is 5:first 5:first' \
        "$(grep -o -e '[15]:[a-z]*' page | sort | tr '\n' ' ' | sed 's/ $//')"
    same 'gnuplot prints no warning' '' "$(cat plain)"
else
    skip gnuplot
fi

if command -v pandoc >/dev/null; then
    same pandoc '49 0.1772 0.6870
75 | | b _ _ < >' "$(
        pandoc -f gfm -t html life.md | sed -n 's/^<t[dh][^>]*>\(.*\)<.t[dh]>$/\1/p' |
            awk 'NR == 9 || NR == 17 { numbers = numbers " " $0 } END { print NR numbers }'
        pandoc -f gfm -t html marks.md | sed -n 's/^<td[^>]*>\(.*\)<.td>$/\1/p' |
            sed 's/&lt;/</; s/&gt;/>/' |
            awk '/^[|b_<>]$/ { marks = marks " " $0 } END { print NR marks }')"
else
    skip pandoc
fi

if command -v jq >/dev/null; then
    same jq "6870 2
$life
[\"Life\",\"is\"]
[null,null,true]
a
c" "$(
        jq -r '"\(.[0].tensors["h.0.weights"][0][1][1] * 10000 | round) \(length)"' life.json
        jq -r '.[0].sentence' life.json
        jq -c 'select(.sentence == "Life is") | [.tokens[].text]' life.jsonl
        jq -c '.tensors["h.0.masked"][0] | [.[0][1], .[1][2], .[2][2] != null]' causal.json
        jq -r '.columns | select(.side == "left").id' items.jsonl)"
else
    skip jq
fi

if python=$(python_with jsonschema); then
    same 'JSON agrees with its schemas, and all formats agree' '' \
        "$("$python" -W ignore "$ROOT/tests/readers/schemas.py" "$attn" 2>&1)"
    if command -v Rscript >/dev/null &&
        Rscript --vanilla -e 'library(jsonlite)' >/dev/null 2>&1; then
        same 'R reads the values of JSON' "$(ls results/*.json | wc -l) results" \
            "$(env -u TMPDIR Rscript --vanilla "$ROOT/tests/readers/results.R" results 2>&1)"
    else
        skip "R's jsonlite"
    fi
else
    skip "Python's jsonschema"
fi

closing
