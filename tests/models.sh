#!/bin/sh
# The worked examples in models/ are what `make models` writes, to the byte, and so is tiny's
# vocabulary: whether its weights are what training makes of that takes longer to find out (`make
# tiny`, then cmp). What else is trained is not made again: its train.py stands beside it.
#
#     sh tests/models.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}

fresh=$(mktemp -d) || exit 1
trap 'rm -rf "$fresh"' EXIT
passed=0 failed=0

same() { # FILE FRESH
    if cmp "$1" "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

examples=
for folder in models/*/; do
    name=$(basename "$folder")
    [ "$name" = tiny ] || [ -f "$folder/train.py" ] || examples="$examples $name"
done

# shellcheck disable=SC2086 # a word a model
"$build/generate-models" models "$fresh" $examples || failed=1
sh models/train.sh "$build/attn-cli" "$fresh/tiny" words 2>"$fresh/said" || failed=1

for name in $examples; do
    same "models/$name/model.safetensors" "$fresh/$name/model.safetensors"
done
same models/tiny/vocab.json "$fresh/tiny/bpe/vocab.json"
same models/tiny/merges.txt "$fresh/tiny/bpe/merges.txt"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
