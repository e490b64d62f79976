#!/bin/sh
# Compare attn-cli on SmolLM2 135M, Gemma 3 270M, all-MiniLM-L6-v2 and all-mpnet-base-v2 with
# transformers in float64, TransformerLens, minicons and llama.cpp, all from packages.
#
#     sh tests/references/real/run.sh [BUILD] [small]
#
# `small` compares only the numbers of SmolLM2, without TransformerLens and minicons. Missing
# packages are named and their stages skipped; environment.sh gives their size. Models are made
# once, in BUILD/real.
set -u
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
part=${2-}
real=$build/real
export ATTN="$build/attn-cli" HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TQDM_DISABLE=1 \
    OMP_NUM_THREADS=1 TRANSFORMERS_VERBOSITY=error PYTHONWARNINGS=ignore
# Keep freed memory: mapping it anew for each float64 tensor took a sixth of the processor time.
export MALLOC_MMAP_THRESHOLD_=8000000000 MALLOC_TRIM_THRESHOLD_=8000000000

stage() { # WHAT COMMAND...: run a command that ends with `N passed, N failed`
    echo "== $1"
    shift
    "$@" >"$scratch/stage" 2>"$scratch/errors" </dev/null
    counts=$(tail -n 1 "$scratch/stage" |
        sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, [0-9]+ skipped)?$/\1 \2/p')
    grep -vE '^(passed: |[0-9]+ passed, )' "$scratch/stage"
    [ -n "${VERBOSE-}" ] && grep '^passed: ' "$scratch/stage"
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
        progress
    else
        fail "it did not end: $*" "$scratch/errors"
    fi
}

why=$(sh tests/references/real/environment.sh "$build" "$part" | tail -n 1)
if [ -n "$why" ]; then
    do_without "real models: $why"
fi
python=$real/venv/bin/python
models=smollm2
encoders=
[ "$part" = small ] || models='smollm2 gemma3' encoders='minilm mpnet'
# shellcheck disable=SC2086 # names
"$python" tests/references/real/models.py "$real" $models $encoders >"$scratch/made" 2>&1 || {
    fail 'the models' "$scratch/made"
    closing
    exit
}
# shellcheck disable=SC2086 # it may be empty
stage 'frozen numbers of SmolLM2' "$python" tests/references/real/frozen.py "$real" $part
for document in README.md $(grep -l 'smollm2[.]gguf' data/guides/[!R]*.md); do
    stage "SmolLM2 in $document" sh tests/sources/readme.sh "$build" "$document"
done
for model in $models; do
    # shellcheck disable=SC2086 # it may be empty
    stage "the numbers of $model" "$python" tests/references/real/same_numbers.py "$real" \
        "$model" $part
done
for model in $encoders; do
    stage "the encoder $model" "$python" tests/references/real/encoders.py "$real" "$model"
done
[ "$part" = small ] ||
    stage 'vectors of sentence-transformers' "$python" tests/references/torch/sentences.py "$ATTN"
[ "$part" = small ] ||
    stage 'heads, score, lens, attribute, patch' \
        "$python" tests/references/real/same_science.py "$real"
if [ "$part" != small ]; then
    why=$(sh tests/references/peers/fetch.sh "$build" | tail -n 1)
    PEERS=$(cd "$build/peers" && pwd)
    export PEERS
    if [ -n "$why" ]; then
        leave_out "llama.cpp: $why"
    else
        stage llama.cpp "$python" tests/references/real/same_llama_cpp.py "$real"
    fi
fi
closing
