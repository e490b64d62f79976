#!/bin/sh
# Samples of tests rotate with SLICE, a number (run.sh, .ci/run): each takes another part, and as
# many in a row take all.
#
#     sh tests/run/rotation.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
# shellcheck source=tests/run/shares.sh
. tests/run/shares.sh
build=${1:-build}
begin=$(git_here rev-list --count HEAD 2>/dev/null || echo 0)

# Run a command for SLICEs in a row: together they print the lines in $scratch/all.
takes_all() { # COUNT COMMAND...
    count=$1
    shift
    for slice in $(seq "$begin" $((begin + count - 1))); do
        SLICE=$slice "$@" || return
    done | LC_ALL=C sort -u >"$scratch/taken"
    [ -s "$scratch/all" ] && LC_ALL=C sort "$scratch/all" | diff - "$scratch/taken"
}

cases() { # SHARE
    LIST=1 CLI_SHARE=$1 sh tests/cli/run.sh "$build"
}

golden() { # EVERY
    GOLDEN_EVERY=$1 sh tests/run/stage.sh --golden | tr ' ' '\n' | sed '/^$/d'
}

suites_of_asan() {
    SUITES_EVERY=2 sh tests/run/stage.sh --suites "$build"
}

thirds() {
    # shellcheck source=tests/cli/recipes.sh
    (WHOLE='' && . tests/cli/recipes.sh && seq 100 | third)
}

suites() { # EVERY
    LIST=1 sh tests/harm/valgrind.sh "$build" "$1"
}

# Tests without rows run each time.
takes_all_rows() {
    rows() {
        "$build/unit" platform | sed -n 's/ passed, 0 failed$//p'
    }
    all=$(rows)
    even=$(ATTN_UNIT_LOOPS=2 SLICE=0 rows) odd=$(ATTN_UNIT_LOOPS=2 SLICE=1 rows)
    [ "$even" -lt "$all" ] && [ "$odd" -lt "$all" ] && [ $((even + odd)) -ge "$all" ]
}

# The number of lines in a table of refusals that are tried.
lines() { # EVERY
    "$build/refusals" --every "$1" "$build/attn-cli" tests/refusals/gguf.cases |
        sed -n 's/ passed, 0 failed$//p'
}

takes_all_lines() { # EVERY
    all=$(lines 1) some=0
    for slice in $(seq 1 "$1"); do
        found=$(SLICE=$slice lines "$1")
        some=$((some + ${found:-0}))
    done
    [ "${all:-0}" -gt 2 ] && is "$all" "$some"
}

# What continuous integration leaves to others: all of it runs within four commits, fuzz within two,
# and the samples of each target are all taken within 24.
lists() { # COUNT: what as many commits run that change nothing
    for slice in $(seq "$begin" $((begin + $1 - 1))); do
        SLICE=$slice SINCE=HEAD TURN='' .ci/run --list | cut -d ' ' -f 1,3-
    done | LC_ALL=C sort -u
}

everything_runs_in_turn() {
    TURN=all .ci/run --list >"$scratch/rows"
    cut -d ' ' -f 1,3- "$scratch/rows" | LC_ALL=C sort -u >"$scratch/all"
    [ "$(wc -l <"$scratch/all")" -gt 15 ] && lists 4 | diff "$scratch/all" - &&
        lists 2 | grep '^target fuzz '
}

rare_stages_are_in_the_table() {
    WHOLE=1 sh tests/run/stage.sh --list | sort >"$scratch/whole"
    WHOLE='' sh tests/run/stage.sh --list | sort | comm -23 "$scratch/whole" - |
        grep -vx -e page -e live >"$scratch/rare" # by make test-page and test-live
    sed -n 's/^stage [0-9]* //p' "$scratch/rows" | sort | diff "$scratch/rare" -
}

# EVERY=N of one of MANY.
samples_of_targets_rotate() {
    bytes=$(sed -n 's/^EVERY=.*:-\([0-9]*\)}/\1/p' tests/systems/same_bytes.sh)
    sed "s/ bytes\$/& EVERY=$bytes/" "$scratch/rows" |
        sed -nE 's/^[a-z]+ ([0-9]+) ([a-z-]+) ([A-Z]+_)?EVERY=([0-9]+)$/\1 \4 \2/p' |
        awk '$1 * $2 > 24 { print $3 ": all are taken after " $1 * $2; bad = 1 }
            END { exit bad || NR < 4 }'
}

unset CLI_SHARE GOLDEN SLICE STAGES TURN
CLI_SHARE=1/1 LIST=1 sh tests/cli/run.sh "$build" >"$scratch/all"
check 'asan takes all command lines in 24 SLICEs' takes_all 24 cases /24
golden 1 >"$scratch/all"
check 'make test takes all golden models in 2 SLICEs' takes_all 2 golden 2
documents() {
    sh tests/run/stage.sh --documents
}
printf '%s\n' README.md README.zh.md CONTRIBUTING.md data/guides/[!R]*.md >"$scratch/all"
check 'make test takes all documents in 2 SLICEs' takes_all 2 documents
seq 4 >"$scratch/all"
check 'test-page takes all shares in 2 SLICEs' takes_all 2 numbers_of_shares 2 2
seq 100 >"$scratch/all"
check 'a case takes all lines in 3 SLICEs' takes_all 3 thirds
"$build/unit" --list >"$scratch/all"
check 'asan takes all suites in 4 SLICEs' takes_all 4 suites_of_asan
check 'and all rows of their loops in 2' takes_all_rows
check 'valgrind takes all suites in 24 SLICEs' takes_all 24 suites 24
check 'refusals takes all lines in as many SLICEs' takes_all_lines 3
if command -v bash >/dev/null; then
    check 'continuous integration runs everything in turn' everything_runs_in_turn
    check 'and every stage that make test leaves out' rare_stages_are_in_the_table
    check 'the samples of targets rotate' samples_of_targets_rotate
else
    leave_out 'bash is not installed'
fi
closing
