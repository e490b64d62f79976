#!/bin/sh
# The unit tests and a few command lines under valgrind: nothing wild, uninitialised or leaked.
#
#     sh tests/valgrind.sh [BUILD [EVERY]]     only every EVERY-th suite
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}
every=${2:-1}

if ! command -v valgrind >/dev/null; then
    leave_out 'valgrind is not installed'
    closing
    exit
fi

# Kernels are written anew where older ones stood: valgrind must look whether code has changed.
watched='valgrind --quiet --smc-check=all --leak-check=full --error-exitcode=99'
watched="$watched --suppressions=tests/valgrind.supp"

# A program that ends with another status than expected, or with valgrind's own, has failed.
watch() { # STATUS COMMAND...
    expected=$1
    shift
    $watched "$@" >"$scratch/log" 2>&1 </dev/null
    status=$?
    if [ "$status" = "$expected" ]; then
        pass
    else
        fail "expected status $expected, found $status: $*" "$scratch/log"
    fi
}

sentence='Life is short, eat dessert first'

# Each test is a process of its own and is checked for leaks when it ends; valgrind takes its time,
# so that as many suites run at once as there are processors.
export ATTN_UNIT_FEW=2 CK_DEFAULT_TIMEOUT=600
modules=$("$build/unit" --list | awk "NR % $every == 0")
one="$watched $build/unit MODULE >$scratch/MODULE.log 2>&1 </dev/null"
printf '%s\n' $modules |
    xargs -P "$(nproc)" -I MODULE sh -c "$one && : >$scratch/MODULE.passed"
for module in $modules; do
    if [ -e "$scratch/$module.passed" ]; then
        pass
    else
        fail "unit $module" "$scratch/$module.log"
    fi
done

watch 0 "$build/attn-cli" --version
watch 0 "$build/attn-cli" run --sentence "$sentence"
watch 0 "$build/attn-cli" run --model life --sentence "$sentence" --show all --format json
watch 0 "$build/attn-cli" run --model journey --sentence 'Your journey starts' --format csv
watch 0 "$build/attn-cli" explain --sentence "$sentence" --layer 1 --format latex --full
watch 0 "$build/attn-cli" explain --model life --sentence "$sentence" --token is
watch 0 "$build/attn-cli" generate --sentence "$sentence" -n 4 --temp 1 --top-k 9 --top-p 0.9
watch 0 "$build/attn-cli" generate --sentence "$sentence" -n 4 --show weights,logits,q --format tidy
watch 0 "$build/attn-cli" init --shape tiny --sentence "$sentence" --output "$scratch/model"
watch 0 "$build/attn-cli" batch data/experiments/sentences.txt --show all --sweep model=tiny
watch 0 "$build/attn-cli" batch data/experiments/sentences.txt --reduce mean,max,entropy \
    --output "$scratch/parts/" --shard 1/1
watch 0 "$build/attn-cli" merge "$scratch/parts/"
watch 2 "$build/attn-cli" run --no-such-option
watch 3 "$build/attn-cli" run --model life --sentence 'nobody knows'
watch 3 "$build/attn-cli" run --model models/none --sentence "$sentence"

closing
