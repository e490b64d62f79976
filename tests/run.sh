#!/bin/sh
# Run every stage of the tests on what was built and sum up.
#
#     sh tests/run.sh [BUILD]
#
# A stage is a command whose last line reads `N passed, N failed`, or goes on with `, N skipped`.
# What else it prints is shown when something failed; why a check was skipped is always shown. The
# last line of all has the same form. Status 1 when anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}

logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
passed=0 failed=0 skipped=0

seconds() {
    date +%s.%N | sed 's/N$/0/' # not every date knows %N
}

run() { # NAME COMMAND...
    name=$1
    shift
    seconds >"$logs/$name.began"
    "$@" >"$logs/$name" 2>&1 </dev/null
    echo $? >"$logs/$name.status"
    seconds >"$logs/$name.ended"
}

# Say how a stage ended and count it.
tell() { # NAME
    status=$(cat "$logs/$1.status")
    closing=$(tail -n 1 "$logs/$1")
    took=$(paste "$logs/$1.ended" "$logs/$1.began" | awk '{ printf "%.1f", $1 - $2 }')
    counts=$(printf '%s\n' "$closing" |
        sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p')
    [ -n "$counts" ] || closing="ended with status $status and without a count"
    printf '%-8s %s  (%s s)\n' "$1" "$closing" "$took"
    log=$logs/$1
    # shellcheck disable=SC2086 # two or three numbers
    set -- ${counts:-0 1}
    [ "$status" != 0 ] && [ "$2" = 0 ] && set -- "$1" 1 "${3-}"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
    if [ "$2" = 0 ]; then
        sed -n 's/^skipped: /         &/p' "$log"
    else
        sed 's/^/    /' "$log"
    fi
}

stage() { # NAME COMMAND...
    run "$@"
    tell "$1"
}

# Tests on a busy machine wait; only one that hangs takes a minute.
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-60}"

# Half of all the time: it has a processor of its own, where there are two.
run unit "$build/unit" &
stage floors sh tests/floors.sh
stage style sh tests/style.sh
stage models sh tests/models.sh "$build"
stage figures sh tests/figures.sh "$build" models/tiny
stage oracle "$build/oracle" "$build/attn-cli" tests/golden/*
stage bf16 "$build/oracle" --bf16 "$build/attn-cli" tests/golden/*
stage install sh tests/install.sh "$build"
stage cli sh tests/cli.sh "$build"
stage break "$build/break" --every "${BREAK_EVERY:-1}" "$build/attn-cli" tests/break/*.cases
stage flips "$build/flips" "${FLIPS_STRIDE:-1}"
stage memory sh tests/faults.sh memory "$build" "${FAULT_EVERY:-41}"
stage files sh tests/faults.sh files "$build" "${FAULT_EVERY:-13}"
stage fuzz sh tests/fuzz.sh replay "$build"
stage machine "$build/endure" --every "${ENDURE_EVERY:-3}" "$build/attn-cli"
stage hauls sh tests/long_hauls.sh "$build"
stage batch sh tests/batch.sh "$build"
stage readers sh tests/readers.sh "$build"
stage pictures sh tests/pictures.sh "$build"
stage page sh tests/page/run.sh "$build"
wait
tell unit

closing="$passed passed, $failed failed"
[ "$skipped" = 0 ] || closing="$closing, $skipped skipped"
printf '%s\n' "$closing"
[ "$failed" = 0 ]
