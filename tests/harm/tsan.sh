#!/bin/sh
# Suites and command lines with several threads under ThreadSanitizer, which reports data races.
#
#     sh tests/harm/tsan.sh BUILD SUITE...
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$1
shift
export TSAN_OPTIONS=exitcode=99:second_deadlock_stack=1

# Enough work for several threads: several groups of a thousand tokens each.
texts=$scratch/texts
head -n 200 data/fables.txt >"$texts"

export ATTN_UNIT_FEW=30
export attn="$build/attn-cli" texts scratch
export train="train -q --shape tiny --vocab $scratch/words/vocab.json --context 16 --batch-size 16 \
    --steps 2 --dropout 0.1 -t 4 -d $texts"
lines=$scratch/lines
for suite in "$@"; do
    echo "0 '$build/unit' $suite"
done >"$lines"
cat >>"$lines" <<'END'
0 "$attn" batch "$texts" -m tiny -t 4 -o "$scratch/lines.jsonl"
0 "$attn" run -f "$texts" -m tiny -t 2 --words --format tidy
0 "$attn" batch "$texts" -m tiny -t 4 --layer 1 --head 0 --format csv -o "$scratch/files/"
0 "$attn" init --vocab-from "$texts" -o "$scratch/words" && "$attn" $train -o "$scratch/trained"
0 "$attn" heads -m tiny -t 4 -f "$texts"
0 "$attn" bench --shape tiny --threads 4 --tokens 64 --repeat 1
END
side_by_side "$lines"
closing
