#!/bin/sh
# What shares threads, under the thread sanitizer: no two may touch the same memory unordered.
#
#     sh tests/tsan.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/tsan}

log=$(mktemp) || exit 1
made=$(mktemp -d) || exit 1
trap 'rm -rf "$log" "$made"' EXIT
passed=0 failed=0

check() { # COMMAND...
    if TSAN_OPTIONS=exitcode=99:second_deadlock_stack=1 "$@" >"$log" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        printf 'failed: %s\n' "$*"
        tail -n 60 "$log"
        failed=$((failed + 1))
    fi
}

# Enough work that threads are woken: a batch of a thousand tokens, texts of a whole context.
"$build/attn-cli" corpus data/fables.grammar -n 200 -o "$made/texts"

export ATTN_UNIT_FEW=1 CK_DEFAULT_TIMEOUT=600
for suite in pool heap machine gemm batch forward attention cache study; do
    check "$build/unit" "$suite"
done
attn=$build/attn-cli
check "$attn" batch "$made/texts" -m tiny -t 4 -o "$made/lines.jsonl"
check "$attn" batch "$made/texts" -m tiny -t 4 --reduce mean,max,entropy -o "$made/sums.csv"
check "$attn" batch "$made/texts" -m tiny -t 4 --layer 1 --head 0 --format csv -o "$made/files/"
check "$attn" vocab "$made/texts" -o "$made/words"
check "$attn" train -q -d "$made/texts" --shape tiny --vocab "$made/words/vocab.json" \
    --context 16 --batch 16 --steps 2 --dropout 0.1 -t 4 -o "$made/trained"
check "$attn" heads -m tiny -t 4
check "$attn" bench --shape tiny --threads 4 --tokens 64 --repeat 1

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
