#!/bin/sh
# The unit tests and a few command lines under valgrind: nothing wild, uninitialised or leaked.
#
#     sh tests/valgrind.sh [BUILD [EVERY]]     only every EVERY-th suite
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
every=${2:-1}

if ! command -v valgrind >/dev/null; then
    printf 'skipped: valgrind is not installed\n0 passed, 0 failed, 1 skipped\n'
    exit 0
fi

log=$(mktemp) || exit 1
made=$(mktemp -d) || exit 1
trap 'rm -rf "$log" "$made"' EXIT
passed=0 failed=0

# Kernels are written anew where older ones stood: valgrind must look whether code has changed.
watched='valgrind --quiet --smc-check=all --leak-check=full --error-exitcode=99'
watched="$watched --suppressions=tests/valgrind.supp"

# A program that ends with another status than expected, or with valgrind's own, has failed.
check() { # STATUS COMMAND...
    expected=$1
    shift
    $watched "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [ "$status" = "$expected" ]; then
        passed=$((passed + 1))
    else
        printf 'expected status %d, found %d: %s\n' "$expected" "$status" "$*"
        tail -n 40 "$log"
        failed=$((failed + 1))
    fi
}

sentence='Life is short, eat dessert first'

# Each test is a process of its own and is checked for leaks when it ends; valgrind takes its time,
# so that as many suites run at once as there are processors.
export ATTN_UNIT_FEW=1 CK_DEFAULT_TIMEOUT=600
modules=$(sed -n 's/^SUITE(\(.*\))$/\1/p' tests/unit/suites.h | awk "NR % $every == 0")
printf '%s\n' $modules | xargs -P "$(nproc)" -I MODULE \
    sh -c "$watched $build/unit MODULE >$made/MODULE.log 2>&1 </dev/null && : >$made/MODULE.passed"
for module in $modules; do
    if [ -e "$made/$module.passed" ]; then
        passed=$((passed + 1))
    else
        printf 'failed: unit %s\n' "$module"
        tail -n 40 "$made/$module.log"
        failed=$((failed + 1))
    fi
done

check 0 "$build/attn-cli" --version
check 0 "$build/attn-cli" run --sentence "$sentence"
check 0 "$build/attn-cli" run --model life --sentence "$sentence" --show all --format json
check 0 "$build/attn-cli" run --model journey --sentence 'Your journey starts' --format csv
check 0 "$build/attn-cli" explain --sentence "$sentence" --layer 1 --format latex --full
check 0 "$build/attn-cli" explain --model life --sentence "$sentence" --token is
check 0 "$build/attn-cli" generate --sentence "$sentence" -n 4 --temp 1 --top-k 9 --top-p 0.9
check 0 "$build/attn-cli" generate --sentence "$sentence" -n 4 --show weights,logits,q --format tidy
check 0 "$build/attn-cli" init --shape tiny --sentence "$sentence" --output "$made/model"
check 0 "$build/attn-cli" batch data/experiments/sentences.txt --show all --sweep model=tiny
check 0 "$build/attn-cli" batch data/experiments/sentences.txt --reduce mean,max,entropy \
    --output "$made/parts/" --shard 1/1
check 0 "$build/attn-cli" merge "$made/parts/"
check 2 "$build/attn-cli" run --no-such-option
check 3 "$build/attn-cli" run --model life --sentence 'nobody knows'
check 3 "$build/attn-cli" run --model models/none --sentence "$sentence"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
