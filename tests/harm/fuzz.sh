#!/bin/sh
# Run the fuzz targets of tests/harm/fuzz. Each is a program in BUILD/fuzz.
#
#     sh tests/harm/fuzz.sh replay [BUILD]             run each input of the corpora once
#     sh tests/harm/fuzz.sh run BUILD SECONDS [NAME...]  make new inputs; BUILD has libFuzzer
#     sh tests/harm/fuzz.sh mutate BUILD SEED COUNT [NAME...]  change inputs, without libFuzzer
#     sh tests/harm/fuzz.sh keep BUILD [NAME...]       write fuzz/corpus again: the old and new
#                                                 inputs that are needed to reach the same code
#     sh tests/harm/fuzz.sh add NAME FILE...           add inputs to a target's corpus
#     sh tests/harm/fuzz.sh unpack NAME FOLDER      write a corpus as files, named after their lines
#                                                 in tests/harm/fuzz/corpus/NAME.inputs
#
# `run` writes new inputs to BUILD/fuzz/corpus and those that fail to BUILD/fuzz/found, `mutate`
# writes those that fail to found-NUMBER; `BUILD/fuzz/NAME FILE` repeats one. All but add and unpack
# end with `N passed, N failed` targets.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
# shellcheck source=tests/harm/fuzz/inputs.sh
. tests/harm/fuzz/inputs.sh
action=${1:-replay}
build=${2:-build}
[ $# -lt 2 ] || shift 2
case $action in # here the second word is the target
add)
    inputs_pack "$@" >>"tests/harm/fuzz/corpus/$build.inputs"
    exit
    ;;
unpack)
    inputs_unpack "tests/harm/fuzz/corpus/$build.inputs" "$1"
    exit
    ;;
esac
seconds=60
if [ "$action" = run ]; then
    seconds=${1:-60}
    [ $# = 0 ] || shift
fi
if [ "$action" = mutate ]; then
    seed=$1 count=$2
    shift 2
fi
names=$*
[ -n "$names" ] || names=$(cd tests/harm/fuzz && ls ./*_fuzz.c | sed 's|^./||; s|_fuzz.c$||')

# Freed memory is kept for a while, so that its use is detected, but not so much that memory grows
# without bound.
ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=8:allocator_may_return_null=1}
export ASAN_OPTIONS

log=$scratch/log
total=$(printf '%s\n' "$names" | wc -w)

verdict() { # NAME STATUS
    if [ "$2" = 0 ]; then
        pass
    else
        tail -n 40 "$log" >"$scratch/tail"
        fail "$1: status $2" "$scratch/tail"
    fi
}

# Writes the inputs of a target to a folder and sets `seeds` to it.
write_seeds() { # NAME
    seeds=$scratch/$1.inputs
    inputs_unpack "tests/harm/fuzz/corpus/$1.inputs" "$seeds" >"$log" 2>&1
}

replay() { # NAME
    write_seeds "$1" && "$build/fuzz/$1" "$seeds"/* >"$log" 2>&1
}

mutate() { # NAME
    write_seeds "$1" || return
    case $1 in config | model) set -- "$1" tests/references/golden-families/*/config.json ;; esac
    name=$1
    shift
    "$build/fuzz/$name" --mutate "$seed" "$count" "$seeds"/* "$@" >"$log" 2>&1
    status=$?
    printf '%s: %s\n' "$name" "$(tail -n 1 "$log")"
    return $status
}

run() { # NAME: its last line has the number of executions
    new=$build/fuzz/corpus/$1
    found=$build/fuzz/found
    mkdir -p "$new" "$found"
    write_seeds "$1" || return
    # engine.c limits processor time for each input; libFuzzer's limit is wall time.
    "$build/fuzz/$1" -max_total_time="$seconds" -timeout=600 -max_len=1024 -malloc_limit_mb=64 \
        -print_final_stats=1 -artifact_prefix="$found/$1-" \
        "$new" "$seeds" >"$log" 2>&1
    status=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%s: %s executions\n' "$1" "${executions:-some}"
    printf '%s %s %s\n' "$1" "${executions:-0}" $status >>"$build/fuzz/executions"
    return $status
}

keep() { # NAME
    kept=$build/fuzz/kept/$1
    rm -rf "$kept"
    mkdir -p "$kept"
    write_seeds "$1" || return
    "$build/fuzz/$1" -merge=1 -use_counters=0 -timeout=600 -max_len=8192 \
        "$kept" "$seeds" "$build/fuzz/corpus/$1" >"$log" 2>&1 || return
    inputs_pack "$kept"/* >"tests/harm/fuzz/corpus/$1.inputs"
}

# Targets run at the same time, each in its own call of this script.
if [ "$action" = run ] && [ "$total" -gt 1 ]; then
    for name in $names; do
        echo "0 sh tests/harm/fuzz.sh run '$build' $seconds $name"
    done >"$scratch/lines"
    side_by_side "$scratch/lines"
    grep -h ' executions$' "$scratch"/lines.*
    closing
    exit
fi
for name in $names; do
    $action "$name"
    verdict "$name" $?
done
closing
