# shellcheck shell=sh
# What the command-line cases make their files from; read by cli.sh and readers.sh.

# The repository may be one that nobody can write: what is copied from there can be changed.
cp() {
    command cp "$@" && eval "chmod -R u+w \"\${$#}\""
}

model() { # NAME FOLDER: a copy of one of models/ or golden/, to be changed
    mkdir -p "$2"
    for from in "$ROOT/models/$1" "$ROOT/tests/golden/$1"; do
        for file in config.json vocab.json merges.txt model.safetensors; do
            [ ! -f "$from/$file" ] || command cp "$from/$file" "$2"
        done
    done
    chmod -R u+w "$2"
}

edit() { # FILE SCRIPT: change it with sed; a header must keep its length
    LC_ALL=C sed "$2" "$1" >edited && mv edited "$1"
}

zeros() { # BYTES
    head -c "$1" /dev/zero
}

pack() { # HEADER: a safetensors file: eight bytes of length, the header, standard input
    length=$(printf '%s' "$1" | wc -c)
    # shellcheck disable=SC2059 # the inner printf writes the format
    printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $((length % 256)) $((length / 256)))"
    printf '%s' "$1"
    cat
}

word_model() { # FOLDER WORDS COUNT: a vocabulary, as a JSON array, that is all looked at evenly
    mkdir -p "$1"
    printf '%s\n' "$2" >"$1/vocab.json"
    printf '{"model_type": "attention", "vocab_size": %d, "n_embd": 1, "projections": false}\n' \
        "$3" >"$1/config.json"
    zeros $((4 * $3)) | pack "$(printf \
        '{"wte.weight": {"dtype": "F32", "shape": [%d, 1], "data_offsets": [0, %d]}}' \
        "$3" $((4 * $3)))" >"$1/model.safetensors"
}

number_model() { # FOLDER OCTAL...: words a, b and c, of one channel with this float32, or one each
    word_model "$1" '["a", "b", "c"]' 3
    header=$(($(wc -c <"$1/model.safetensors") - 12))
    head -c $header "$1/model.safetensors" >numbered
    # shellcheck disable=SC2059 # the number is made of escapes
    printf "$2${3-$2}${4-$2}" >>numbered
    mv numbered "$1/model.safetensors"
}

# Done, or refused in one line, or one for each item of a batch, and in less than a minute; else
# what it was is printed.
bear() { # COMMAND...
    timeout -s KILL 60 "$ATTN" "$@" >printed 2>said </dev/null
    status=$?
    [ $status = 0 ] && return
    [ $status = 1 ] && [ "$1" = batch ] && grep -q '^attn-cli: error: ' said && return
    [ $status -ge 3 ] && [ $status -le 5 ] && [ "$(wc -l <said)" = 1 ] && return
    printf '%s: ended with %d\n' "$*" $status
    head -n 3 said
}

as_nobody() { # COMMAND...: as somebody to whom permissions mean something
    [ -z "${COVERAGE-}" ] || skip 'somebody else may not write what gcov counts'
    if [ "$(id -u)" = 0 ]; then
        need setpriv
        chmod 711 .. # the folder that all cases run in
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

# A shell lets the jobs in its background ignore SIGINT, and so do we: where a case interrupts one,
# it is started by `env --default-signal=INT`.
need_interrupts() {
    env --default-signal=INT true 2>/dev/null || skip 'env cannot reset a signal here'
}

need_terminal() { # leaves the case out where none can be made
    need script
    script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip 'no terminal can be made here'
}

on_a_terminal() { # COMMAND-LINE: what it writes there
    need_terminal
    script -qec "$1" /dev/null </dev/null | tr -d '\r'
}

small_school() { # texts, words/vocab.json and a config to train on
    cp "$ROOT/tests/texts/agree.txt" texts
    "$ATTN" init --vocab-from texts -o words
    cat >config.json <<'END'
{"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16, "vocab_size": 70}
END
}

train() { # OPTION...: on the small school's texts, its losses alone
    "$ATTN" train -d texts --batch-size 4 --context 8 "$@" >printed || return
    awk '/^ +[0-9]/ { print $1, $2, $3 }' printed
}

commands() { # the names of all commands
    "$ATTN" help --completion bash | awk '/^value\tcommands\t/ { print $3 }'
}

options_of() { # COMMAND: its options
    "$ATTN" help --completion bash |
        awk -v command="$1" '/^(flag|option)/ && $2 == command { print $3 }'
}
