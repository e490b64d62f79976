#!/bin/sh
# Run all stages of the tests (stage.sh), and add up their counts. AT_ONCE stages run at the same
# time, by default one more than there are processors, at most four.
#
#     sh tests/run/run.sh [BUILD]
#
# On a terminal, prints failures when they happen, and a line of progress. Elsewhere, also prints
# why checks were skipped, and repeats all failures at the end, in case the log is truncated. The
# last line is `N passed, N failed`. Status 1 if anything failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/in_memory.sh
. tests/run/in_memory.sh
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
# Samples are others for each SLICE: by default the number of commits up to this one.
export SLICE="${SLICE:-$(git_here rev-list --count HEAD 2>/dev/null || echo 0)}"
stages=$(sh tests/run/stage.sh --list | wc -l)
# One more than there are processors, because some wait.
at_once=${AT_ONCE:-$(($(nproc 2>/dev/null || echo 2) + 1))}
[ "$at_once" -le 4 ] || at_once=4
[ ! -t 1 ] || [ "${TERM-dumb}" = dumb ] || export ON_TERMINAL=1

finish() {
    : >"$scratch/over"
    wait
    [ -z "${ON_TERMINAL-}" ] || printf '\r\033[K'
    remove "$scratch"
}

# Print the output of the stages that ended since the last call.
say_ended() {
    for said in "$scratch"/*.said; do
        [ -e "$said" ] || continue
        cat "$said"
        mv "$said" "${said%.said}.told"
    done
}

# --- on a terminal: failures, then a line of progress ---------------------------------------------

# Print `unit 12 of 160` for each running stage.
progress_of_all() {
    between=''
    for log in "$scratch"/*.log; do
        its=${log%.log}
        if [ ! -e "$log" ] || [ -e "$its.told" ] || [ -e "$its.said" ]; then
            continue
        fi
        printf '%s%s' "$between" "${its##*/}"
        between=' · '
        read -r reached total 2>/dev/null <"$its.progress" || continue
        printf ' %s' "$reached"
        [ "$total" = 0 ] || printf ' of %s' "$total"
    done
} 2>/dev/null

show() {
    printf '\r\033[K'
    cat "$scratch"/*.log 2>/dev/null | grep '^failed: ' | LC_ALL=C sort \
        >"$scratch/failures.now"
    LC_ALL=C comm -13 "$scratch/failures" "$scratch/failures.now" | cut -c "1-$columns"
    mv "$scratch/failures.now" "$scratch/failures"
    say_ended
    minutes=$(($(date +%s) - began))
    minutes=$(printf '%d:%02d' $((minutes / 60)) $((minutes % 60)))
    ended=$(find "$scratch" -name '*.told' | wc -l)
    printf '%d of %d stages, %s · %s' "$ended" "$stages" "$minutes" "$(progress_of_all)" |
        cut -c "1-$columns" | tr -d '\n'
}

# --- all stages -----------------------------------------------------------------------------------

watch() {
    began=$(date +%s)
    columns=$(stty size 2>/dev/null </dev/tty | awk '{ print $2 - 1 }')
    [ "${columns:-0}" -gt 20 ] || columns=79
    while [ -d "$scratch" ] && ! [ -e "$scratch/over" ]; do
        if [ -n "${ON_TERMINAL-}" ]; then
            show
        else
            say_ended
        fi
        sleep 0.4
    done
}

# Print the failures of all stages.
tell_failures() {
    for log in "$scratch"/*.log; do
        stage=${log##*/}
        sed -n "s/^failed: /failed in ${stage%.log}: /p" "$log"
    done
}

# Name the missing tools.
tell_left_out() {
    missing=$(cat "$scratch"/*.log |
        sed -nE 's/^skipped: (.*: )?([^:]*) (is|are) not installed.*/\2/p')
    [ -n "$missing" ] || return
    printf '%d checks need missing tools (%s): make test-all installs most of them\n' \
        "$(printf '%s\n' "$missing" | wc -l)" \
        "$(printf '%s\n' "$missing" | awk '!seen[$0]++ { printf "%s%s", comma, $0; comma = ", " }')"
}

: >"$scratch/failures"
watch &
sh tests/run/stage.sh --list | xargs -P "$at_once" -I STAGE \
    sh tests/run/stage.sh STAGE "$build" "$scratch"
: >"$scratch/over"
wait
[ -z "${ON_TERMINAL-}" ] || printf '\r\033[K'
say_ended
[ -n "${ON_TERMINAL-}" ] || tell_failures
tell_left_out
[ -n "${WHOLE-}" ] || echo "samples: SLICE=$SLICE repeats them; make test-all takes all"
cat "$scratch"/*.counts >"$scratch/sums"
failed=$((stages - $(wc -l <"$scratch/sums"))) # stages that ended without counts
while read -r some failures others; do
    passed=$((passed + some)) failed=$((failed + failures)) skipped=$((skipped + others))
done <"$scratch/sums"
closing
