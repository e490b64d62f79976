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

ordered() { # COMMAND...
    check "$*" "$@" </dev/null
}

# Enough work that threads are woken: a batch of a thousand tokens, texts of a whole context.
texts=$scratch/texts
"$build/attn-cli" corpus data/fables.grammar -n 200 -o "$texts"

export ATTN_UNIT_FEW=1 CK_DEFAULT_TIMEOUT=600
for suite in pool heap machine gemm batch forward attention cache train_step; do
    ordered "$build/unit" "$suite"
done
attn=$build/attn-cli
ordered "$attn" batch "$texts" -m tiny -t 4 -o "$scratch/lines.jsonl"
ordered "$attn" batch "$texts" -m tiny -t 4 --reduce mean,max,entropy -o "$scratch/sums.csv"
ordered "$attn" batch "$texts" -m tiny -t 4 --layer 1 --head 0 --format csv \
    -o "$scratch/files/"
ordered "$attn" vocab "$texts" -o "$scratch/words"
ordered "$attn" train -q -d "$texts" --shape tiny --vocab "$scratch/words/vocab.json" \
    --context 16 --batch 16 --steps 2 --dropout 0.1 -t 4 -o "$scratch/trained"
ordered "$attn" heads -m tiny -t 4
ordered "$attn" bench --shape tiny --threads 4 --tokens 64 --repeat 1

closing
