#!/bin/sh
# Run unit tests and some command lines under valgrind, which finds invalid accesses and leaks.
#
#     sh tests/harm/valgrind.sh [BUILD [EVERY]]   each EVERY-th suite, others for each SLICE; LIST=1
#                                              only prints their names
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
every=${2:-1}

suites() {
    "$build/unit" --list |
        awk -v every="$every" -v slice="${SLICE:-0}" '(NR - slice) % every == 0'
}

[ -z "${LIST-}" ] || { suites && exit; }
if ! command -v valgrind >/dev/null; then
    do_without 'valgrind is not installed'
fi

# --smc-check: kernels are generated at addresses of older ones. --vex-iropt-register-updates: tests
# of files that become shorter return from a signal handler to the load that failed.
watched='valgrind --quiet --smc-check=all --leak-check=full --error-exitcode=99'
watched="$watched --vex-iropt-register-updates=allregs-at-mem-access"

# Each test is its own process and is checked for leaks at its end.
export ATTN_UNIT_FEW=2
export watched build scratch
export attn="$build/attn-cli" sentence='Life is short, eat dessert first'
export items="$watched $attn batch data/experiments/sentences.txt"
lines=$scratch/lines
# shellcheck disable=SC2016 # for the shells of side_by_side
suites | sed 's|.*|0 $watched "$build/unit" &|' >"$lines"
cat >>"$lines" <<'END'
0 $watched "$attn" --version
0 $watched "$attn" run --sentence "$sentence"
0 $watched "$attn" run --model life --sentence "$sentence" --show all --format json
0 $watched "$attn" run --model journey --sentence 'Your journey starts' --format csv
0 $watched "$attn" explain --sentence "$sentence" --layer 1 --format markdown --full
0 $watched "$attn" explain --model life --sentence "$sentence" --token is
0 $watched "$attn" generate --sentence "$sentence" -n 4 --temperature 1 --top-k 9 --top-p 0.9
0 $watched "$attn" generate --sentence "$sentence" -n 4 --show weights,logits,q --format tidy
0 $watched "$attn" init --shape tiny --sentence "$sentence" --output "$scratch/model"
0 $watched "$attn" batch data/experiments/sentences.txt --show all --sweep model=tiny
0 $items -o "$scratch/x.jsonl" --shard 1/1 && $watched "$attn" batch --join "$scratch"/x.*.part
2 $watched "$attn" run --no-such-option
3 $watched "$attn" run --model life --sentence 'nobody knows'
3 $watched "$attn" run --model models/none --sentence "$sentence"
END
side_by_side "$lines"
closing
