#!/bin/sh
# What the README and the guides show works as it stands there, in its order, in what a clone has.
#
#     sh tests/readme.sh [BUILD [DOCUMENT...]]
#     VERBOSE=1 sh tests/readme.sh build README.md        say every line, and what it printed
#
# A line to try is one in a block that begins with ```sh, or a command in a table: | `attn-cli …` |;
# or one that begins with $ in a block ```console, and then what it prints is what stands below it.
# Each document has a fresh copy and one shell, so that a line may use what one before it made; then
# all have one copy, one after the other, as a reader has: no line meets what another document made.
# A line is wrong when its status is not 0 or attn-cli says `error`. A comment can leave it out:
#
#     # takes …           time, or a download, that no test has
#     # needs THING …     where that program, or Python's module of that name, is not there
#
# ./gpt2 is a small GPT-2 with random weights. Lines that name smollm2.gguf are left out unless
# `make test-real` has fetched that file, and so are lines that name a file which a line left out
# would have written (its -o). Links to files are followed, too.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
root=$(pwd)
case ${1:-build} in
/*) build=$1 ;;
*) build=$root/${1:-build} ;;
esac
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- README.md CONTRIBUTING.md data/guides/[!R]*.md
LINES_MAX=200 # of the README: more is a guide
smollm2=$build/real/SmolLM2-135M-Instruct.Q4_1.gguf

unset ATTN_MODEL ATTN_MODEL_PATH NO_COLOR 2>/dev/null
export COLUMNS=80 TERM=dumb
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container one is root
export OMPI_MCA_rmaps_base_oversubscribe=1
long=0
together= # else all documents are in one copy, and what is left out was said
# R cannot remove its folder where the name has a blank.
mkdir "$scratch/tmp" && export TMPDIR="$scratch/tmp"

# What a clone has, a program that was built, and a checkpoint.
copy() { # FOLDER
    mkdir -p "$1/build"
    cp -R .gitignore README.md CONTRIBUTING.md data models "$1" &&
        chmod -R u+w "$1" # the sources may be read-only
    ln -s "$build/attn-cli" "$1/build/attn-cli"
    [ ! -e "$smollm2" ] || ln -s "$smollm2" "$1/smollm2.gguf"
    "$build/attn-cli" init -q --config "$scratch/gpt2.json" --vocab tests/bpe/vocab.json \
        --merges tests/bpe/merges.txt -o "$1/gpt2"
}

# `NUMBER:COMMAND` of every line to try; one that ends with \ goes on in the next. What it is to
# print is in expected.NUMBER.
commands() { # DOCUMENT
    awk -v expected="$scratch/expected." '
        /^```/ {
            in_block = !in_block && ($0 == "```sh" || $0 == "```console")
            in_console = $0 == "```console"
            next
        }
        in_block && in_console && !whole && !sub(/^\$ /, "") {
            print > (expected number)
            next
        }
        in_block && in_console && !whole { printf "" > (expected NR) }
        in_block && !whole { number = NR }
        in_block && /\\$/ { whole = whole substr($0, 1, length($0) - 1); next }
        in_block {
            whole = whole $0
            if (whole ~ /[^ ]/ && whole !~ /^ *#/)
                print number ":" whole
            whole = ""
        }
        /^\|/ { tell_cells() }
        function tell_cells(   i, count, parts) {
            count = split($0, parts, "`")
            for (i = 2; i <= count; i += 2)
                if (parts[i] ~ /^attn-cli [a-z]/)
                    print NR ":" parts[i]
        }' "$1"
}

is_there() { # THING
    command -v "$1" >/dev/null 2>&1 && return
    python=$(python_with "$1") || return
    python3() { "$python" "$@"; } # for the line
}

# Does a line name a file that a line left out would have written?
names_unwritten() { # LINE
    for file in $unwritten; do
        case $1 in *"$file"*) return ;; esac
    done
    return 1
}

# Is there a reason to leave a line out?
left_out() { # LINE
    case $1 in
    *'# takes '*) thing= ;;
    *'# needs '*)
        thing=${1##*'# needs '}
        thing=${thing%%[ ,:]*}
        is_there "$thing" && ! names_unwritten "$1" && return 1
        ;;
    *'smollm2.gguf'*)
        [ -e "$smollm2" ] && return 1
        thing=smollm2.gguf
        case $1 in *' -o '*) unwritten="$unwritten $(expr "$1" : '.* -o \([^ ]*\)')" ;; esac
        ;;
    *)
        names_unwritten "$1" || return 1
        thing=smollm2.gguf
        ;;
    esac
    [ -z "$together" ] || return 0
    skipped=$((skipped + 1))
    [ -n "$thing" ] || long=$((long + 1))
    [ -z "$thing" ] || printf 'skipped: %s is not installed\n' "$thing"
}

# In the copy, in this very shell.
try() { # PLACE LINE EXPECTED
    left_out "$2" && return
    eval "$2" >"$scratch/log" 2>&1 </dev/null
    status=$?
    [ -z "${VERBOSE-}" ] || { printf '%s: %s\n' "$1" "$2" && sed 's/^/    /' "$scratch/log"; }
    if [ $status != 0 ] || grep -q '^attn-cli: error' "$scratch/log"; then
        fail "$1: $2 (status $status)" "$scratch/log"
    elif [ -e "$3" ] && ! diff "$3" "$scratch/log" >"$scratch/differs"; then
        fail "$1: $2 prints something else" "$scratch/differs"
    else
        pass
    fi
}

# Links of a document to files beside it.
follow() { # DOCUMENT
    grep -oE '\]\([^)# ]+|(src|srcset)="[^"]+' "$1" | sed 's/^](//; s/^[a-z]*="//' >"$scratch/links"
    while read -r link; do
        case $link in http*) continue ;; esac
        if [ -e "$(dirname "$1")/$link" ]; then
            pass
        else
            fail "$1: there is no $link"
        fi
    done <"$scratch/links"
}

# In the copy that is there.
try_all() { # DOCUMENT
    rm -f "$scratch"/expected.*
    unwritten=
    commands "$1" >"$scratch/commands"
    [ -s "$scratch/commands" ] || fail "$1: it has no line to try"
    path=$PATH
    PATH=$build:$PATH
    cd "$scratch/clone" || exit 1
    while IFS= read -r entry <&3; do
        try "$1:${entry%%:*}$together" "${entry#*:}" "$scratch/expected.${entry%%:*}"
    done 3<"$scratch/commands"
    unset ATTN_MODEL
    PATH=$path
    cd "$root" || exit 1
}

document() { # DOCUMENT
    follow "$1"
    copy "$scratch/clone" || fail "$1: a copy to try its lines in"
    try_all "$1"
    rm -rf "$scratch/clone"
}

cat >"$scratch/gpt2.json" <<'END'
{"model_type": "gpt2", "n_embd": 48, "n_layer": 12, "n_head": 12, "n_positions": 128,
 "vocab_size": 1024}
END
if [ "$(wc -l <README.md)" -le $LINES_MAX ]; then
    pass
else
    fail "README.md: expected at most $LINES_MAX lines, found $(wc -l <README.md)"
fi
follow data/guides/README.md
for name in "$@"; do
    document "$name"
done
together=' after other documents'
[ $# = 1 ] || copy "$scratch/clone" || fail 'a copy to try all lines in'
[ $# = 1 ] || (cd "$scratch/clone" && git init -q && git add .)
for name in "$@"; do
    [ $# = 1 ] || try_all "$name"
done
# The lines change no file of the clone, and leave none that git would show.
if [ $# != 1 ]; then
    if (cd "$scratch/clone" && git ls-files -m -o --exclude-standard) >"$scratch/left" &&
        [ ! -s "$scratch/left" ]; then
        pass
    else
        fail 'the lines leave these files in the clone' "$scratch/left"
    fi
fi

[ $long = 0 ] || printf 'skipped: %d lines that take minutes, a download or a cluster\n' $long
closing
