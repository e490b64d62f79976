#!/bin/sh
# The program of `make static` runs alone in an empty root folder and writes the same bytes as
# build/attn-cli.
#
#     sh tests/systems/static.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
static=$build/attn-cli-static

if [ ! -x "$static" ]; then
    do_without 'the static program is not built: make static'
fi

names_no_library() {
    ! readelf -ld "$static" | grep -E 'INTERP|NEEDED'
}

# A root folder with only the program, a model and a text.
mkdir -p "$scratch/empty/tmp" "$scratch/usual/tmp"
cp "$static" "$scratch/empty/attn-cli"
for folder in "$scratch/empty" "$scratch/usual"; do
    mkdir "$folder/model" "$folder/qwen"
    cp tests/references/golden-families/qwen3/config.json \
        tests/references/golden-families/qwen3/model.safetensors \
        "$folder/model"
    cp tests/texts/tokenizers/qwen2-like/tokenizer.json "$folder/qwen"
    cp data/experiments/sentences.txt "$folder/texts"
done

chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
in_empty() { # ARGUMENT...
    if [ "$(id -u)" = 0 ]; then
        env -i "$chroot" "$scratch/empty" /attn-cli "$@" </dev/null
    else
        (cd "$scratch/empty" && env -i PATH=/ ./attn-cli "$@" </dev/null)
    fi
}

usual() { # ARGUMENT...
    program=$(cd "$build" && pwd)/attn-cli
    (cd "$scratch/usual" && env -i "$program" "$@" </dev/null)
}

same_of_both() { # ARGUMENT...: the same output and files, except log.csv, which has times
    usual "$@" >"$scratch/expected" && in_empty "$@" >"$scratch/out" &&
        cmp "$scratch/expected" "$scratch/out" &&
        diff -r -x attn-cli -x log.csv "$scratch/usual" "$scratch/empty"
}

says_what_it_lacks() { # FORMAT
    in_empty run 'Life is' -o "picture.$1" 2>"$scratch/err"
    [ $? = 5 ] && [ ! -e "$scratch/empty/picture.$1" ] &&
        grep 'png and pdf need rsvg-convert, which is not installed' "$scratch/err"
}

check 'the program needs no library and no loader' names_no_library
while read -r line; do
    # shellcheck disable=SC2086 # words without blanks
    check "same output and files: $line" same_of_both $line
done <<'END'
run Life --show all --format tidy
run -q Life --layer all --show all -o all.safetensors
run -m ./model --ids 3,1,4 --show all --format json
run -q -m life -s Life -o page.html
run -q Life -o life.svg
run -q Life -o life.tex
explain -m life -s Life --token Life
score -f texts --total -t 2
generate -s Life -n 5
tokenize -m ./qwen Life's_café
batch -q texts -t 2 -o lines.jsonl
heads -f texts -t 2 -o entropy.csv
init -q --vocab-from texts -o words
train -q --shape tiny --vocab words/vocab.json --context 16 --batch-size 4 --steps 2 -d texts -o out
heads -t 2
lesson 3
help run
info tiny
END
for format in png pdf; do
    check "$format without rsvg-convert is refused" says_what_it_lacks $format
done
closing
