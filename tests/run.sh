#!/bin/sh
# Run every stage of the tests on what was built and sum up.
#
#     sh tests/run.sh [BUILD]
#
# A stage is a command whose last line reads `N passed, N failed`, or goes on with `, N skipped`,
# and that prints `failed: WHAT` where something did. What else it prints is shown when something
# failed. On a terminal, failures are shown as they come, and how far it is, in a line that changes;
# elsewhere, why a check was skipped. The last line of all has the form of the stages'. Status 1
# when anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}
stages=$(grep -c '^stage \|^start ' tests/run.sh)
stage=0 unit='' watcher=''
on_terminal=''
[ ! -t 1 ] || [ "${TERM-dumb}" = dumb ] || on_terminal=1

finish() {
    # shellcheck disable=SC2086 # a word a process
    [ -z "$watcher$unit" ] || kill $watcher $unit 2>/dev/null
    wait
    [ -z "$watcher" ] || printf '\r\033[K'
    remove "$scratch"
}

seconds() {
    date +%s.%N | sed 's/N$/0/' # not every date knows %N
}

run() { # NAME COMMAND...
    name=$1
    shift
    seconds >"$scratch/$name.began"
    ATTN_TEST_PROGRESS=$scratch/$name.progress "$@" >"$scratch/$name.log" 2>&1 </dev/null
    echo $? >"$scratch/$name.status"
    seconds >"$scratch/$name.ended"
}

# The counts of a stage's closing line, which what it tidies up may have come after. Of one that
# ended without: what it said had failed, and its end.
counts() { # NAME
    sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' \
        "$scratch/$1.log" | tail -n 1 | grep . && return
    said=$(grep -c '^failed: ' "$scratch/$1.log")
    done=$(cut -d ' ' -f 1 "$scratch/$1.progress" 2>/dev/null)
    [ "${done:-0}" -ge "$said" ] || done=$said
    echo "$((done - said)) $((said + 1)) ended early"
}

# Half of all the time: it has a processor of its own, where there are two. Not a function's child:
# what is interrupted must end this process itself.
start() { # NAME COMMAND
    seconds >"$scratch/$1.began"
    ATTN_TEST_PROGRESS=$scratch/$1.progress "$2" >"$scratch/$1.log" 2>&1 </dev/null &
    unit=$!
}

await() { # NAME: it was last heard of when it ended
    stage=$((stage + 1))
    echo "$1 $stage" >"$scratch/now"
    wait "$unit"
    echo $? >"$scratch/$1.status"
    unit=
    { date -r "$scratch/$1.log" +%s.%N || seconds; } 2>/dev/null >"$scratch/$1.ended"
    tell "$1" >>"$scratch/said"
}

# Say how a stage ended and count it.
tell() { # NAME
    name=$1
    status=$(cat "$scratch/$name.status")
    took=$(paste "$scratch/$name.ended" "$scratch/$name.began" | awk '{ printf "%.1f", $1 - $2 }')
    # shellcheck disable=SC2046 # numbers
    set -- $(counts "$name")
    closing="$1 passed, $2 failed${3:+, $3 skipped}"
    if [ "${3-}" = ended ]; then
        closing="ended with status $status after $1 passed, $2 failed"
        set -- "$1" "$2"
    elif [ "$status" != 0 ] && [ "$2" = 0 ]; then
        closing="$closing, but ended with status $status"
        set -- "$1" 1 "${3-}"
    fi
    printf '%-8s %s  (%s s)\n' "$name" "$closing" "$took"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
    if [ "$2" != 0 ]; then
        sed 's/^/    /' "$scratch/$name.log"
    elif [ -z "$on_terminal" ]; then
        sed -n 's/^skipped: /         &/p' "$scratch/$name.log"
    fi
}

stage() { # NAME COMMAND...
    stage=$((stage + 1))
    echo "$1 $stage" >"$scratch/now"
    run "$@"
    tell "$1" >>"$scratch/said"
    [ -n "$on_terminal" ] || {
        cat "$scratch/said"
        : >"$scratch/said"
    }
}

# --- on a terminal: what was said so far, then one line that changes ------------------------------

progress_of() { # NAME: `unit 12 of 160`
    read -r reached total <"$scratch/$1.progress" || return
    printf '%s %s' "$1" "$reached"
    [ "$total" = 0 ] || printf ' of %s' "$total"
} 2>/dev/null

show() {
    printf '\r\033[K'
    cat "$scratch"/*.log 2>/dev/null | grep '^failed: ' | LC_ALL=C sort \
        >"$scratch/failures.now"
    LC_ALL=C comm -13 "$scratch/failures" "$scratch/failures.now" | cut -c "1-$columns"
    mv "$scratch/failures.now" "$scratch/failures"
    sed -n "$((told + 1)),\$p" "$scratch/said"
    told=$(wc -l <"$scratch/said")
    read -r name stage <"$scratch/now" || return
    minutes=$(($(date +%s) - began))
    minutes=$(printf '%d:%02d' $((minutes / 60)) $((minutes % 60)))
    beside=$([ "$name" = unit ] || progress_of unit | grep -v '^unit \([0-9]*\) of \1$')
    now=$(progress_of "$name" || echo "$name")
    printf 'stage %d of %d: %s · %s' "$stage" "$stages" "$now${beside:+ · $beside}" "$minutes"
}

watch() {
    told=0 began=$(date +%s)
    columns=$(stty size 2>/dev/null </dev/tty | awk '{ print $2 - 1 }')
    [ "${columns:-0}" -gt 20 ] || columns=79
    while [ -d "$scratch" ] && ! [ -e "$scratch/over" ]; do
        show
        sleep 0.4
    done
    [ ! -d "$scratch" ] || show
    printf '\r\033[K'
}

# --- all ------------------------------------------------------------------------------------------

# What is not installed can be.
tell_left_out() {
    missing=$(cat "$scratch"/*.log |
        sed -nE 's/^skipped: (.*: )?([^:]*) (is|are) not installed.*/\2/p')
    [ -n "$missing" ] || return
    printf '%d left out for want of %s: make test-all installs what it can of that\n' \
        "$(printf '%s\n' "$missing" | wc -l)" \
        "$(printf '%s\n' "$missing" | awk '!seen[$0]++ { printf "%s%s", comma, $0; comma = ", " }')"
}

# Tests on a busy machine wait; only one that hangs takes a minute.
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-60}"

: >"$scratch/said"
: >"$scratch/failures"
if [ -n "$on_terminal" ]; then
    watch &
    watcher=$!
fi
start unit "$build/unit"
stage harness sh tests/harness.sh
stage floors sh tests/floors.sh
stage style sh tests/style.sh
stage models sh tests/models.sh "$build"
stage figures sh tests/figures.sh "$build" models/tiny
# Plain C of bf16 takes minutes with sanitizers: they name a few models.
golden=$(for folder in tests/golden/* tests/golden-families/*; do
    case " ${GOLDEN:-${folder##*/}} " in
        *" ${folder##*/} "*) printf '%s ' "$folder" ;;
    esac
done)
# shellcheck disable=SC2086 # words
stage oracle "$build/oracle" "$build/attn-cli" $golden
stage bf16 "$build/oracle" --bf16 "$build/attn-cli" tests/golden/* tests/golden-families/*
stage install sh tests/install.sh "$build"
stage readme sh tests/readme.sh "$build"
stage cli sh tests/cli.sh "$build"
stage break "$build/break" --every "${BREAK_EVERY:-1}" "$build/attn-cli" tests/break/*.cases
stage flips "$build/flips" "${FLIPS_STRIDE:-1}"
stage memory sh tests/faults.sh memory "$build" "${FAULT_EVERY:-41}"
stage files sh tests/faults.sh files "$build" "${FAULT_EVERY:-13}"
stage fuzz sh tests/fuzz.sh replay "$build"
stage machine "$build/endure" --every "${ENDURE_EVERY:-3}" "$build/attn-cli"
stage things "$build/things" --every "${THINGS_EVERY:-29}" "$build/attn-cli"
stage races sh tests/races.sh "$build" "${RACE_ROUNDS:-7}"
stage hauls sh tests/long_hauls.sh "$build"
stage batch sh tests/batch.sh "$build"
stage readers sh tests/readers.sh "$build"
stage pictures sh tests/pictures.sh "$build"
stage page sh tests/page/run.sh "$build" "${PAGE-}"
await unit

: >"$scratch/over"
if [ -n "$on_terminal" ]; then
    wait "$watcher"
    watcher=
else
    cat "$scratch/said"
fi
tell_left_out
closing
