#!/bin/sh
# lib/bindings/python: the numbers of attn-cli, in numpy.
#
#     sh tests/python.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}
case $build in
/*) ;;
*) build=$(pwd)/$build ;;
esac
export LIBATTN="$build/libattn.so" PYTHONDONTWRITEBYTECODE=1

python_with() { # MODULE
    for python in python3 /usr/bin/python3; do
        "$python" -c "import $1" 2>/dev/null && printf '%s\n' "$python" && return
    done
    return 1
}

if [ ! -e "$LIBATTN" ]; then
    leave_out 'the shared library is not built: for another system, or with instruments'
    closing
    exit
fi
if ! python=$(python_with numpy); then
    leave_out 'numpy is not installed'
    closing
    exit
fi

# What pip leaves beside the sources is not for them.
installs() {
    cp -R lib/bindings/python "$scratch/sources" &&
        "$python" -m pip install --quiet --no-index --no-build-isolation --no-deps \
            --target "$scratch/site" "$scratch/sources" && [ -e "$scratch/site/attn.py" ]
}

PYTHONPATH=$(pwd)/lib/bindings/python
if "$python" -c 'import setuptools, wheel, pip' 2>/dev/null; then
    check 'pip installs it without a network' installs
    PYTHONPATH=$scratch/site
else
    leave_out 'pip with setuptools and wheel is not installed'
fi
export PYTHONPATH

"$build/attn-cli" run 'Life is short' --show all --format json -o "$scratch/all.json"
"$build/attn-cli" score 'Life is short' --format json -o "$scratch/score.json"
"$build/attn-cli" run -m life-cross -s 'Life is' --source 'short eat' --show weights \
    --format json -o "$scratch/cross.json"

check 'its numbers are those of the program' "$python" - "$scratch" <<'END'
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
check 'its scores are those of the program' "$python" - "$scratch" <<'END'
import json, sys
import attn, numpy
program = json.load(open(sys.argv[1] + "/score.json"))
scores = attn.Model("tiny").score("Life is short")
expected = [token["logprob"] for token in program["scores"]]
assert numpy.isnan(scores[0]) and len(scores) == 3
assert numpy.array_equal(scores[1:], numpy.array(expected[1:], numpy.float32)), (scores, expected)
END
check 'a source, heads and edits are passed on' "$python" - "$scratch" <<'END'
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
check 'steps have the bits of the whole' "$python" - <<'END'
import attn, numpy
model = attn.Model("tiny")
whole = model.run("Life is short", show="logits")["logits"]
cache = model.cache()
parts = [cache.step([number])["logits"] for number in model.encode("Life is short")]
assert numpy.array_equal(numpy.concatenate(parts), whole)
END
check 'errors carry the status' "$python" - <<'END'
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
if "$python" -c 'import pandas' 2>/dev/null; then
    check 'a frame has a row a cell' "$python" - <<'END'
import attn
run = attn.Model("tiny").run("Life is short", show="weights,resid_pre", heads="1")
frame = run.frame()
assert len(frame) == sum(values.size for values in run.values())
cell = frame[(frame.tensor == "h.1.weights") & (frame.row == 2) & (frame.column == 1)]
assert len(cell) == 1 and cell["head"].item() == 1
assert cell.value.item() == run["h.1.weights"][0, 2, 1]
END
else
    leave_out 'pandas is not installed'
fi
closing
