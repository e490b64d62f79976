#!/bin/sh
# `make models` writes the worked examples in models/ again, to the byte, and the vocabulary of tiny
# can be made again. To check the weights of tiny, train it (`make tiny`) and compare with cmp. The
# models that models/translate.py, models/cloze.py and models/roles.py train, and the dictionary of
# models/demo.py, are not checked.
#
#     sh tests/references/models.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}

fresh=$scratch

examples=
for folder in models/*/; do
    name=$(basename "$folder")
    case $name in
    tiny | translate* | cloze | roles | recall | demo) ;;
    *) examples="$examples $name" ;;
    esac
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
