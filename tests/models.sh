#!/bin/sh
# The worked examples in models/ are what `make models` writes, to the byte, and so is tiny's
# vocabulary: whether its weights are what training makes of that takes longer to find out (`make
# tiny`, then cmp). What else is trained is not made again: its train.py stands beside it.
#
#     sh tests/models.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}

fresh=$scratch

examples=
for folder in models/*/; do
    name=$(basename "$folder")
    [ "$name" = tiny ] || [ -f "$folder/train.py" ] || examples="$examples $name"
done

# shellcheck disable=SC2086 # a word a model
check 'the examples are made' "$build/generate-models" models "$fresh" $examples

for name in $examples; do
    check "$name" cmp "models/$name/model.safetensors" "$fresh/$name/model.safetensors"
done
if command -v python3 >/dev/null; then
    check 'the words of tiny are made' sh models/train.sh "$build/attn-cli" "$fresh/tiny" words
    check tiny cmp models/tiny/vocab.json "$fresh/tiny/bpe/vocab.json"
    check tiny cmp models/tiny/merges.txt "$fresh/tiny/bpe/merges.txt"
else
    leave_out 'the words of tiny are made: python3 is not installed'
fi
closing
