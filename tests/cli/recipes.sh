# shellcheck shell=sh
# Functions that make files for command-line cases; used by cli.sh and readers.sh.

# Copies are writable even if the repository is read-only.
cp() {
    command cp "$@" && eval "chmod -R u+w \"\${$#}\""
}

model() { # NAME FOLDER: copies a model of models/ or golden/
    mkdir -p "$2"
    for from in "$ROOT/models/$1" "$ROOT/tests/references/golden/$1"; do
        for file in config.json vocab.json merges.txt model.safetensors; do
            [ ! -f "$from/$file" ] || command cp "$from/$file" "$2"
        done
    done
    chmod -R u+w "$2"
}

edit() { # FILE SCRIPT: edits a file with sed; a header must keep its length
    LC_ALL=C sed "$2" "$1" >edited && mv edited "$1"
}

repeat_lines() { # COUNT FILE: prints this number of its lines, again from the first after its last
    awk -v count="$1" '{ line[NR] = $0 }
        END { for (i = 0; i < count; i++) print line[i % NR + 1] }' "$2"
}

zeros() { # BYTES
    head -c "$1" /dev/zero
}

pack() { # HEADER: prints a safetensors file with the header and the data of standard input
    length=$(printf '%s' "$1" | wc -c)
    # shellcheck disable=SC2059 # the inner printf writes the format
    printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $((length % 256)) $((length / 256)))"
    printf '%s' "$1"
    cat
}

word_model() { # FOLDER WORDS COUNT: a model with this vocabulary (JSON array), uniform attention
    mkdir -p "$1"
    printf '%s\n' "$2" >"$1/vocab.json"
    printf '{"model_type": "attention", "vocab_size": %d, "n_embd": 1, "projections": false}\n' \
        "$3" >"$1/config.json"
    zeros $((4 * $3)) | pack "$(printf \
        '{"wte.weight": {"dtype": "F32", "shape": [%d, 1], "data_offsets": [0, %d]}}' \
        "$3" $((4 * $3)))" >"$1/model.safetensors"
}

number_model() { # FOLDER OCTAL...: words a, b, c; one channel with this float32, or one for each
    word_model "$1" '["a", "b", "c"]' 3
    header=$(($(wc -c <"$1/model.safetensors") - 12))
    head -c $header "$1/model.safetensors" >numbered
    # shellcheck disable=SC2059 # the number is made of escapes
    printf "$2${3-$2}${4-$2}" >>numbered
    mv numbered "$1/model.safetensors"
}

odd_models() { # makes the folders of models with odd numbers, all of which are legal
    number_model minus '\000\000\000\200' # -0
    number_model denormal '\001\000\000\000'
    number_model small '\231\166\226\076'
    number_model large '\231\166\226\176' # 1e38
    number_model larger '\377\377\177\377'
    number_model mixed '\231\166\226\176' '\000\000\000\200' '\001\000\000\000'
    for spread in 0 1e-42 1000; do
        "$ATTN" init -q --shape tiny --set "n_embd=1,n_layer=1,n_head=1,initializer_range=$spread" \
            -s 'a b c' -o "spread-$spread"
    done
}

# The command succeeds or is refused, with one line, or one for each item of a batch; otherwise, or
# if it hangs, prints its status and messages.
bear() { # COMMAND...
    timeout -s KILL "$HANG" "$ATTN" "$@" >printed 2>said </dev/null
    status=$?
    [ $status = 0 ] && return
    [ $status = 1 ] && [ "$1" = batch ] && grep -q '^attn-cli: error: ' said && return
    [ $status -ge 3 ] && [ $status -le 5 ] && [ "$(wc -l <said)" = 1 ] && return
    printf '%s: ended with %d\n' "$*" $status
    head -n 3 said
}

as_nobody() { # COMMAND...: as an ordinary user, for whom permissions apply
    [ -z "${COVERAGE-}" ] || skip 'another user cannot write the counts of gcov'
    if [ "$(id -u)" = 0 ]; then
        need setpriv
        chmod 711 .. # the folder that all cases run in
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

# Background jobs of a shell ignore SIGINT. A case that interrupts one starts it with
# `env --default-signal=INT`.
need_interrupts() {
    env --default-signal=INT true 2>/dev/null || skip 'env cannot reset a signal here'
}

# Start a command and send it a signal once FILE is there; $status is that of its end. If it ended
# before the signal, as on a busy machine, the folder of FILE is removed, and it starts again after
# `more_work`, a function of the case that makes its work longer. A function as the command ends
# with `exec`, so that it gets the signal.
strike() { # SIGNAL FILE COMMAND...
    signal=$1 file=$2
    shift 2
    for attempt in 1 2 3 4 5 6 7 8; do
        "$@" &
        child=$!
        until [ -e "$file" ] || ! kill -0 $child 2>/dev/null; do sleep 0.01; done
        kill -"$signal" $child 2>/dev/null
        wait $child 2>/dev/null
        status=$?
        [ $status = 0 ] || return 0
        rm -r "${file%/*}"
        more_work
    done
    wrong "it ended before the signal $attempt times"
}

# Kill a background process that hangs.
guard() { # PROCESS
    timeout -s KILL "$HANG" sh -c 'while kill -0 $0; do sleep 0.1; done' "$1" >/dev/null 2>&1
    [ $? != 137 ] || kill -KILL "$1"
}

need_terminal() { # skips the case if no terminal can be made
    need script
    script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip 'no terminal can be made here'
}

on_a_terminal() { # COMMAND-LINE: prints what it writes to a terminal
    need_terminal
    script -qec "$1" /dev/null </dev/null | tr -d '\r'
}

in_stops() { # COMMAND: writes the script `stops`, which pauses the command until it has run seconds
    cat >stops <<END
(while sleep 0.1 && kill -STOP \$\$; do sleep 0.5 && kill -CONT \$\$; done) 2>/dev/null &
exec $1
END
}

stopped_on_a_terminal() { # COMMAND
    in_stops "$1"
    on_a_terminal 'sh stops; exit'
}

# Run a command on the file `texts`, lines of FILE, with more of them until its progress is shown: a
# busy machine may stop a short command too late. The file `lines` has what it shows.
shows_progress() { # THINGS COUNT COMMAND FILE
    for count in $2 $((4 * $2)) $((16 * $2)) $((64 * $2)); do
        repeat_lines "$count" "$4" >texts
        stopped_on_a_terminal "$3" >shown
        tr '\033' '\n' <shown >lines
        grep -q "^\[K[0-9]* of [0-9]* $1, [0-9.]*/s, [0-9a-z ]* left\$" lines && return
    done
    wrong 'no progress is shown'
}

small_school() { # makes texts, words/vocab.json and a config for training
    cp "$ROOT/tests/texts/agree.txt" texts
    "$ATTN" init --vocab-from texts -o words
    cat >config.json <<'END'
{"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16, "vocab_size": 70}
END
}

train() { # OPTION...: trains on these texts and prints only the losses
    "$ATTN" train -d texts --batch-size 4 --context 8 "$@" >printed || return
    awk '/^ +[0-9]/ { print $1, $2, $3 }' printed
}

third() { # prints a third of the lines of standard input, others for each SLICE; WHOLE=1: all
    awk -v slice="${SLICE:-0}" -v whole="${WHOLE-}" 'whole != "" || NR % 3 == slice % 3'
}

commands() { # prints the names of all commands
    "$ATTN" help --completion bash | awk '/^value\tcommands\t/ { print $3 }'
}

options_of() { # COMMAND: prints its options
    "$ATTN" help --completion bash |
        awk -v command="$1" '/^(flag|option)/ && $2 == command { print $3 }'
}
