#!/bin/sh
# Two to twenty processes write to the same path: each leaves a complete result or is refused, and
# after status 0 the result is complete.
#
#     sh tests/harm/races.sh [BUILD [ROUNDS [FIRST]]]      FIRST: number of the first round
#
# The number of a round determines the commands, options and number of processes. To repeat round
# 137 alone: `sh tests/harm/races.sh build 1 137`.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(absolute "${1:-build}")
rounds=${2:-21} first=${3:-1} total=${2:-21}
attn=$build/attn-cli
unset ATTN_MODEL
cd "$scratch" || exit 1

small='-t 1 -q'
train='train -q -t 1 -d texts --config config.json --vocab words/vocab.json'
train="$train --steps 2 --batch-size 2 --context 4"
if ! (
    set -e
    printf 'Life is short\nLife is\neat dessert first\nis\nshort Life\n' >five
    for i in $(seq 300); do cat five; done >many.txt
    for name in Anna Ben Cy; do printf '%s sees Ben, and Ben is old.\n' $name; done >texts
    "$attn" init -q --vocab-from texts -o words
    printf '{"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16, ' \
        >config.json
    printf '"vocab_size": %s}' "$(tr , '\n' <words/vocab.json | wc -l)" >>config.json
    "$attn" init -q --like life -o init-0
    "$attn" init -q --like life-causal -o init-1
    "$attn" run -q -m life -s 'Life is' --format csv -o file-0
    "$attn" run -q -m life -s 'eat dessert first' --format csv -o file-1
    "$attn" run -q -m life -s 'Life is' --format csv -o folder-0/
    "$attn" run -q -m life -s 'eat dessert first' --format csv -o folder-1/
    # shellcheck disable=SC2086 # words
    "$attn" batch many.txt -m life $small -o lines-0.jsonl
    # shellcheck disable=SC2086
    "$attn" batch many.txt -m life $small --format csv -o items-0/
    # shellcheck disable=SC2086
    "$attn" $train -o train-0
) >log 2>&1; then
    fail 'expected results of the races' log
    closing
    exit
fi

# --- random numbers, seeded by the number of the round --------------------------------------------

draw() { # BELOW: sets $drawn
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

choose() { # WORD...: sets $chosen
    draw $#
    shift $drawn
    chosen=$1
}

# --- one process ---------------------------------------------------------------------------------

start() { # ARGUMENT...
    count=$((count + 1))
    mkdir ended/$count
    (
        "$attn" "$@" >ended/$count/out 2>ended/$count/err
        echo $? >ended/$count/status
    ) &
    echo "$*" >ended/$count/line
}

# Each process ended normally, with one line of message if refused; sets $done: how many succeeded.
judge_ends() {
    done=0
    for place in ended/*; do
        status=$(cat "$place/status" 2>/dev/null || echo none)
        case $status in
        0) done=$((done + 1)) ;;
        [1-5]) [ "$(grep -c '^attn-cli: error: ' "$place/err")" = 1 ] ||
            wrong="$wrong; status $status without its reason: $(cat "$place/line")" ;;
        *) wrong="$wrong; status $status: $(cat "$place/line")" ;;
        esac
    done
    [ $done -gt 0 ] || [ "$1" != some ] || wrong="$wrong; all were refused"
}

same_tree() { # A B: equal, except for times and paths
    diff -r -x manifest.json -x log.csv "$1" "$2" >/dev/null 2>&1
}

is_one_of() { # TARGET WHOLE...
    target=$1
    shift
    for whole in "$@"; do
        ! same_tree "$target" "$whole" || return 0
    done
    return 1
}

judge_target() { # TARGET WHOLE...: is complete if any process succeeded
    [ $done = 0 ] || is_one_of "$@" || wrong="$wrong; $done said 0, and the target is not whole"
}

# --- commands -------------------------------------------------------------------------------------

race_init() {
    for i in $(seq $racers); do
        choose life life-causal
        like=$chosen
        choose '' --force
        # shellcheck disable=SC2086 # nothing, or a word
        start init -q --like $like -o target $chosen
    done
    wait
    judge_ends some
    judge_target target init-0 init-1
}

race_file() {
    for i in $(seq $racers); do
        choose 'Life is' 'eat dessert first'
        start run -q -m life -s "$chosen" --format csv -o target
    done
    wait
    judge_ends some
    [ $done = $racers ] || wrong="$wrong; only $done of $racers wrote their file"
    judge_target target file-0 file-1
}

race_folder() {
    for i in $(seq $racers); do
        choose 'Life is' 'eat dessert first'
        sentence=$chosen
        choose '' --force
        # shellcheck disable=SC2086
        start run -q -m life -s "$sentence" --format csv -o target/ $chosen
    done
    wait
    judge_ends some
    judge_target target folder-0 folder-1
}

race_train() {
    for i in $(seq $racers); do
        choose '' --force
        # shellcheck disable=SC2086
        start $train -o target $chosen
    done
    wait
    judge_ends some
    judge_target target/model.safetensors train-0/model.safetensors
    [ $done = 0 ] || "$attn" train -q -t 1 -d texts --resume target >log 2>&1 ||
        wrong="$wrong; the saved training is refused"
}

race_batch() { # TARGET WHOLE OPTION...
    target=$1 whole=$2
    shift 2
    for i in $(seq $racers); do
        choose '' --force --resume --resume
        # shellcheck disable=SC2086
        start batch many.txt -m life $small "$@" -o "$target" $chosen
    done
    wait
    judge_ends some
    judge_target "${target%/}" "$whole"
}

# Several processes for each of three shards, and joins at the same time.
race_shards() { # TARGET WHOLE OPTION...
    target=$1 whole=$2
    shift 2
    for i in $(seq $racers); do
        draw 7
        shard=$((drawn % 3 + 1))
        choose '' --force --resume --resume
        option=$chosen
        # shellcheck disable=SC2086
        if [ $drawn = 3 ] && [ "$i" -gt 2 ]; then
            start batch --join "${target%/}".?-of-3.part -o "$target"
        else
            start batch many.txt -m life $small "$@" -o "$target" --shard $shard/3 $option
        fi
    done
    wait
    judge_ends any
    ! grep -lx 0 $(grep -l -e --join ended/*/line | sed 's/line$/status/') /dev/null >log 2>&1 ||
        is_one_of "${target%/}" "$whole" || wrong="$wrong; a join said 0 and is not whole"
    for shard in 1 2 3; do
        # shellcheck disable=SC2086
        "$attn" batch many.txt -m life $small "$@" -o "$target" --shard $shard/3 --resume \
            >log 2>&1 ||
            wrong="$wrong; shard $shard cannot be resumed: $(cat log)"
    done
    "$attn" batch --join "${target%/}".?-of-3.part -o "$target" >log 2>&1 ||
        wrong="$wrong; the shards are refused: $(cat log)"
    done=1
    judge_target "${target%/}" "$whole"
}

for round in $(seq "$first" $((first + rounds - 1))); do
    seed=$((round * 7919 + 17)) count=0 wrong=''
    rm -rf target target.* ended
    mkdir ended
    draw 19
    racers=$((drawn + 2))
    [ -z "${RACERS-}" ] || racers=$((racers % (RACERS - 1) + 2))
    case $((round % 7)) in
    0) what=init && race_init ;;
    1) what=file && race_file ;;
    2) what=folder && race_folder ;;
    3) what=train && race_train ;;
    4) what='batch to a file' && race_batch target.jsonl lines-0.jsonl ;;
    5) what='batch to a folder' && race_batch target/ items-0 --format csv ;;
    6) what=shards && case $((round % 2)) in
        0) race_shards target.jsonl lines-0.jsonl ;;
        1) race_shards target/ items-0 --format csv ;;
        esac ;;
    esac
    if [ -z "$wrong" ]; then
        pass
    else
        {
            for place in ended/*; do
                printf '%s: %s: %s\n' "$(cat "$place/status")" "$(cat "$place/line")" \
                    "$(head -n 1 "$place/err")"
            done
        } >log
        fail "round $round, $what of $racers$wrong" log
    fi
done
closing
