#!/bin/sh
# What shares threads, under the thread sanitizer: no two may touch the same memory unordered.
#
#     sh tests/tsan.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build/tsan}
export TSAN_OPTIONS=exitcode=99:second_deadlock_stack=1

race_free() { # COMMAND...
    check "$*" "$@" </dev/null
}

# Enough work that threads are woken: a batch of a thousand tokens, texts of a whole context.
"$build/attn-cli" corpus data/fables.grammar -n 200 -o "$scratch/texts"

export ATTN_UNIT_FEW=1 CK_DEFAULT_TIMEOUT=600
for suite in pool heap machine gemm batch forward attention cache study; do
    race_free "$build/unit" "$suite"
done
attn=$build/attn-cli
race_free "$attn" batch "$scratch/texts" -m tiny -t 4 -o "$scratch/lines.jsonl"
race_free "$attn" batch "$scratch/texts" -m tiny -t 4 --reduce mean,max,entropy -o "$scratch/sums.csv"
race_free "$attn" batch "$scratch/texts" -m tiny -t 4 --layer 1 --head 0 --format csv -o "$scratch/files/"
race_free "$attn" vocab "$scratch/texts" -o "$scratch/words"
race_free "$attn" train -q -d "$scratch/texts" --shape tiny --vocab "$scratch/words/vocab.json" \
    --context 16 --batch 16 --steps 2 --dropout 0.1 -t 4 -o "$scratch/trained"
race_free "$attn" heads -m tiny -t 4
race_free "$attn" bench --shape tiny --threads 4 --tokens 64 --repeat 1

closing
