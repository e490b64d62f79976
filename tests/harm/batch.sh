#!/bin/sh
# A large batch: threads and shards do not change a byte of the results, memory does not grow with
# the number of items, and a batch that was killed resumes.
#
#     sh tests/harm/batch.sh [BUILD]
#     BATCH_ITEMS=500 sh tests/harm/batch.sh build/asan        number of items, default 4000
#     BATCH_KILLS='1 12' sh tests/harm/batch.sh           writes to kill a batch at, default 1 to 12
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(absolute "${1:-build}")
attn=$build/attn-cli
footprint=$build/footprint
items=${BATCH_ITEMS:-4000}

fables=$(pwd)/data/fables.txt agree=$(pwd)/tests/texts/agree.txt
cd "$scratch" || exit 1
total=61

# A GPT-2 with a vocabulary of words, so small that files and threads take most of the time.
cp "$agree" texts
"$attn" init --vocab-from texts -o words
"$attn" init --shape tiny --set n_embd=32 --vocab words/vocab.json -o model
export ATTN_MODEL="$scratch/model"

# Sentences of 4 to 40 words, the same in every run.
tr -c 'a-zA-Z' '\n' <words/vocab.json | grep . >all_words
awk -v items="$items" '
    { word[NR - 1] = $0 }
    function roll(n) {
        state = (state * 1103515245 + 12345) % 2147483648
        return int(state / 65536) % n
    }
    END {
        state = 7
        for (i = 0; i < items; i++) {
            line = word[roll(NR)]
            for (k = roll(37) + 3; k > 0; k--)
                line = line " " word[roll(NR)]
            print line
        }
    }' all_words >all.txt
head -n $((items / 20)) all.txt >some.txt

# Kinds of results: lines, a table and files. Files take longer, so they have fewer items.
options() { # KIND
    case $1 in
    lines) echo "all.txt --layer 0 --head 1" ;;
    table) echo "some.txt --layer 0 --head 1 --format tidy" ;;
    files) echo "some.txt --head 1 --format csv" ;;
    stack) echo "all.txt --pool mean --stack" ;;
    esac
}

place() { # KIND NAME: the argument of -o
    case $1 in
    files) echo "$2/" ;;
    table) echo "$2.tidy.csv" ;;
    stack) echo "$2.npy" ;;
    *) echo "$2.jsonl" ;;
    esac
}

run() { # KIND NAME OPTION...
    kind=$1 name=$2
    shift 2
    # shellcheck disable=SC2046 # a word an option
    "$attn" batch $(options "$kind") -q -o "$(place "$kind" "$name")" "$@"
}

shards() { # KIND N: joined to `joined`
    rm -rf joined*
    i=1
    while [ $i -le "$2" ]; do
        run "$1" joined --shard "$i/$2" || return 1
        i=$((i + 1))
    done
    "$attn" batch --join joined*.part -o "$(place "$1" joined)"
}

same() { # KIND NAME
    case $1 in
    files) diff -r whole "$2" ;;
    stack) cmp whole.npy "$2.npy" && cmp whole.jsonl "$2.jsonl" ;;
    *) cmp "$(place "$1" whole)" "$(place "$1" "$2")" ;;
    esac
}

for kind in lines table files stack; do
    check "$kind: on one thread" run $kind whole -t 1
    check "$kind: on two" run $kind threads -t 2
    check "$kind: two threads give the same bytes" same $kind threads
    for n in 1 3 16; do
        check "$kind: $n shards are joined" shards $kind $n
        check "$kind: $n shards give the same bytes" same $kind joined
    done
    rm -rf whole* threads* joined*
done

# Each command that batch can run is killed at each of twelve writes (BATCH_KILLS) and resumed: the
# result has the same bytes. --resume with another option, input or model is refused, and that is
# named in the message.
sed 's/$/ ./; 3q' texts >three.txt
printf '%s\n' clean,corrupt 'The windows are lost .,The doors are lost .' \
    'The king is lost .,The door is lost .' >pairs.csv
cp -r model other
"$attn" init --shape tiny --set n_embd=32 --vocab words/vocab.json --seed 1 -o other --force
can_trace=$(strace -o trace true 2>/dev/null && [ -z "${ASAN_OPTIONS-}" ] && echo yes)

do_batch() { # COMMAND OUTPUT OPTION...: with twelve repetitions
    task=$1 output=$2 format=csv
    shift 2
    case $task in
    mean) set -- --mean texts --layer 0 "$@" && task=run ;;
    run) set -- --show q --layer 0 "$@" ;;
    stack) set -- --pool mean --stack "$@" && task=run format=npy ;;
    heads) set -- --score self "$@" ;;
    generate) set -- -n 2 --temperature 2 "$@" ;;
    esac
    "$attn" batch "$(input_of "$task")" -m model --do "$task" --repeat 12 -q -t 1 --format $format \
        -o "$output" "$@"
}

input_of() { # COMMAND
    if [ "$1" = patch ]; then echo pairs.csv; else echo three.txt; fi
}

killed() { # COMMAND OUTPUT: at each write of a dozen
    do_batch "$1" "whole$2" || return 1
    for n in ${BATCH_KILLS:-1 2 3 4 5 6 7 8 9 10 11 12}; do
        rm -rf part*
        (
            attn_alone=$attn
            attn=traced
            traced() { strace -o trace -e inject=write:signal=KILL:when=$n "$attn_alone" "$@"; }
            do_batch "$1" "part$2"
        ) 2>/dev/null
        status=$?
        [ $status = 137 ] || echo "write $n: expected to be killed, found status $status"
        [ $status = 137 ] || return 1
        do_batch "$1" "part$2" --resume || return 1
        diff -r "whole$2" "part$2" || return 1
    done
}

killed_anywhere() { # COMMAND
    rm -rf whole* part*
    [ "$1" != stack ] || killed stack .npy || return 1
    [ "$1" = stack ] || { killed "$1" .csv && killed "$1" /; }
}

refused() { # WORD COMMAND...: the message contains the word
    word=$1
    shift
    "$@" 2>message && return 1
    cat message
    grep -q "$word" message
}

other_is_refused() { # COMMAND
    whole=whole.csv
    [ "$1" != stack ] || whole=whole.npy
    refused 'command: expected' do_batch "$1" $whole --resume --special none || return 1
    refused 'command: expected' do_batch "$1" $whole --resume -m other || return 1
    mv model kept && mv other model
    refused 'models: expected' do_batch "$1" $whole --resume
    status=$?
    mv model other && mv kept model
    cp "$(input_of "$1")" kept.txt && tail -n 1 kept.txt >>"$(input_of "$1")"
    refused 'input: expected' do_batch "$1" $whole --resume || status=1
    mv kept.txt "$(input_of "$1")"
    return $status
}

for command in run mean stack heads score lens attribute patch generate; do
    if [ "$can_trace" ]; then
        check "$command: killed at any write and resumed" killed_anywhere $command
    else
        leave_out "$command: processes cannot be traced here"
        do_batch $command $([ $command = stack ] && echo whole.npy || echo whole.csv) --force
    fi
    check "$command: another batch is refused" other_is_refused $command
done
rm -rf whole* part*

# The second of two processes that write to the same path. The first is stopped in its middle, with
# more texts if it ended before.
two_writers() {
    for times in 1 8 64 512; do
        rm -rf two*
        "$attn" batch all.txt --repeat $times -q -o two.jsonl &
        first=$!
        halt $first two.jsonl.batch && break
    done
    refused 'another process is writing' "$attn" batch all.txt --repeat $times -o two.jsonl --resume
    status=$?
    kill -KILL $first
    wait $first
    return $status
}
check 'the second of two writers is refused' two_writers
rm -rf two*

# A slow batch of fifty texts, which would fit in one pass, is killed when its log has grown twice;
# if it has ended by then, a slower one is. Instrumented programs begin with a smaller model.
{
    echo clean,corrupt
    for i in $(seq 50); do
        echo 'The windows are lost and the doors are lost and the king is lost .,' \
            'The king is lost and the doors are lost and the windows are lost .'
    done | sed 's/, /,/'
} >slow.csv
slow='slow.csv -m slow --do patch --over heads_by_token -t 1 -q'
layers=6 width=128
[ -z "${ASAN_OPTIONS-}" ] || layers=4 width=64

# shellcheck disable=SC2086 # a word an option
killed_in_the_middle() { # WIDTH
    rm -rf slow whole* part*
    "$attn" init --shape tiny --set n_layer=$layers,n_head=8,n_embd="$1" \
        --vocab words/vocab.json -o slow || return 1
    "$attn" batch $slow -o part.csv &
    before=0 steps=0
    while [ $steps -lt 2 ] && kill -0 $! 2>/dev/null; do
        lines=$(cat part.csv.part 2>/dev/null | wc -l)
        [ "$lines" = $before ] || steps=$((steps + 1)) before=$lines
        sleep 0.02
    done
    kill -9 $!
    wait $! 2>/dev/null
    echo "width $1: $before of 50 items when the log had grown $steps times"
    [ $steps = 2 ] && [ "$before" -lt 50 ] && [ ! -e part.csv ]
}

# shellcheck disable=SC2086 # a word an option
grows() {
    killed_in_the_middle $width || killed_in_the_middle $((2 * width)) ||
        killed_in_the_middle $((4 * width)) || return 1
    "$attn" batch $slow -o whole.csv && "$attn" batch $slow -o part.csv --resume &&
        cmp part.csv whole.csv
}
check 'a slow batch is written as it is computed, killed and resumed' grows
rm -rf whole* part*

# Two measurements of the same command differ by up to 2 MiB with one thread and by 4 MiB with two
# (20 runs): the allocator and the order of threads. Every room below is larger than that and
# smaller than what keeping all results or tokens would take.
room=2048
flat() { # TEXTS COMMAND...: all texts take at most `room` KiB more than the first 1000; -o NAME$at
    texts=$1
    shift
    rm -rf few* many*
    head -n 1000 "$texts" >some.txt
    few=$("$footprint" "$attn" "$@" -f some.txt -q -o few$at) || return 1
    many=$("$footprint" "$attn" "$@" -f "$texts" -q -o many$at) || return 1
    echo "$few KiB for 1000 items, $many KiB for $items"
    [ $((many - few)) -le "$room" ]
}

if [ "$items" -lt 4000 ]; then
    for what in lines 'one array' heads 'fables, files' 'fables, lines'; do
        leave_out "$what: $items items are too few to see memory grow"
    done
else
    cat "$fables" "$fables" | head -n "$items" >fables.txt
    at=.jsonl
    check 'lines: memory is flat' flat all.txt batch --layer 0 --head 1 -t 1
    at=.npy
    check 'one array: memory is flat' flat all.txt run --show resid_post --layer -1 \
        --query -1 --stack -t 1
    at=.jsonl
    room=4096 # all tokens would take 10 MiB
    check 'heads: memory is flat' flat all.txt heads --score self,entropy --format jsonl -t 1
    # Two threads keep up to eight groups of texts in memory; all results would take 106 MiB.
    room=32768
    check 'fables, lines: memory is flat' flat fables.txt batch -m tiny -t 2
    room=2048
    at=/
    check 'fables, files: memory is flat' flat fables.txt batch -m tiny -t 1 --format csv
fi

closing
