#!/bin/sh
# Run the commands in the README and the guides, in their order, in a copy of the repository.
#
#     sh tests/sources/readme.sh [BUILD [DOCUMENT...]]
#     VERBOSE=1 sh tests/sources/readme.sh build README.md        print each command and its output
#     TOGETHER=no sh tests/sources/readme.sh                      no second run in one copy
#     LIST=1 sh tests/sources/readme.sh                    only list what is left over, with reasons
#
# Commands are the lines of ```sh blocks, `attn-cli …` in tables and text, and lines after $ in
# ```console blocks, whose output must be the text below them. Each document runs in its own
# copy and in one shell, so that a command can use files of earlier ones. Then all documents run in
# one copy, as for a reader, so that no document can spoil another. A command fails if its status
# is not 0 or attn-cli prints `error`. These comments skip a command:
#
#     # takes …           takes too long, or downloads something
#     # needs THING …     skipped if that program or Python module is missing; with `writes NAME`
#                         so are the commands that read that file or folder
#
# A command that runs a program of $guests must have one of them. left_over.txt has other commands
# that are not run, and blocks of other languages: a new one fails until it is there with a reason.
#
# ./gpt2 is a small GPT-2 with random weights. Commands that name smollm2.gguf are skipped unless
# `make test-real` has downloaded it; so are commands that read a file that a skipped command would
# have written (its -o). links.sh checks the links.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
root=$(pwd)
build=$(absolute "${1:-build}")
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- README.md README.zh.md CONTRIBUTING.md data/guides/[!R]*.md
WORDS_MAX=1300 # of the README; more belongs in a guide
guests='python3|R|Rscript|gnuplot|jq|node|npm|pip|parallel|mpirun|sbatch|rsvg-convert'
smollm2=$build/real/SmolLM2-135M-Instruct.Q4_1.gguf
[ -e "$smollm2" ] || smollm2= # looked for once: `make test-real` may fetch it meanwhile

unset ATTN_MODEL ATTN_MODEL_PATH NO_COLOR 2>/dev/null
export COLUMNS=80 TERM=dumb
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container the user is root
export OMPI_MCA_rmaps_base_oversubscribe=1
together= # set: all documents run in one copy, and skipped commands are not reported again
# R cannot remove its temporary folder if the path has a blank.
mkdir "$scratch/tmp" && export TMPDIR="$scratch/tmp"

# The files of a clone, the program, and a checkpoint.
copy() { # FOLDER
    mkdir -p "$1/build"
    cp -R .gitignore README.md README.zh.md CONTRIBUTING.md data models "$1" &&
        chmod -R u+w "$1" # the sources may be read-only
    ln -s "$build/attn-cli" "$1/build/attn-cli"
    [ ! -e "$smollm2" ] || ln -s "$smollm2" "$1/smollm2.gguf"
    "$build/attn-cli" init -q --config "$scratch/gpt2.json" --vocab tests/texts/bpe/vocab.json \
        --merges tests/texts/bpe/merges.txt -o "$1/gpt2"
}

# Prints `NUMBER:COMMAND` for each command; a line that ends with \ continues in the next, and so
# does a command in text. Writes the expected output to expected.NUMBER. Of a block in another
# language it prints the line that begins it.
commands() { # DOCUMENT
    awk -v expected="$scratch/expected." '
        /^```/ {
            in_other = !in_block && !in_other && !/^```(sh|console)$/
            in_block = !in_block && /^```(sh|console)$/
            in_console = $0 == "```console"
            in_span = 0
            if (in_other && !/^```(text)?$/)
                print NR ":" $0
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
        in_other && /^attn-cli [a-z]/ { print NR ":" $0 }
        /^\|/ || !NF { in_span = 0 }
        !in_block && !in_other { tell_spans() }
        function tell_spans(   i, count, parts) {
            count = split($0, parts, "`")
            for (i = 1; i <= count; i++) {
                if (i > 1 && in_span && span ~ (/^\|/ ? "^attn-cli [a-z]" : "^attn-cli [a-z]+ "))
                    print from ":" span
                if (i > 1 && (in_span = !in_span))
                    from = NR
                span = i > 1 ? parts[i] : span " " parts[i]
            }
        }' "$1"
}

is_there() { # THING
    command -v "$1" >/dev/null 2>&1 && return
    found=$(python_with "$1") || return
    python=$found
    python3() { "$python" "$@"; } # for the command
}

# Whether a command names a file that a skipped command would have written; sets thing to what that
# command needs.
names_unwritten() { # LINE
    for file in $unwritten; do
        case $1 in *"${file%%:*}"*) thing=${file#*:} && return ;; esac
    done
    return 1
}

# Write the commands of a document to $scratch/commands, and add those that are not run, and lines
# of left_over.txt that it lacks, to $scratch/left_over and $scratch/stale.
# A guide of one line says where its text is now, and has no commands.
divide() { # DOCUMENT
    [ "$(wc -l <"$1")" -gt 1 ] || { : >"$scratch/commands" && return; }
    commands "$1" | awk -v document="$1" -v scratch="$scratch/" '
        FNR == NR && !/^    / { reason = $0 }
        FNR == NR && sub("^    " document ": ", "") { reasons[$0] = reason }
        FNR == NR { next }
        { command = $0; sub(/^[0-9]*:/, "", command) }
        command in reasons { found[command]; $0 = $0 "    # " reasons[command] }
        command in reasons || / # takes / { print document ":" $0 >>(scratch "left_over"); next }
        { print >(scratch "commands") }
        END {
            printf "" >(scratch "commands")
            if (FNR == NR)
                print document ": no command" >>(scratch "stale")
            for (command in reasons)
                if (!(command in found))
                    print document ": " command >>(scratch "stale")
        }' "$root/tests/sources/left_over.txt" -
}

# Whether a command must be skipped.
left_out() { # LINE
    case $1 in
    *'# needs '*)
        thing=${1##*'# needs '}
        thing=${thing%%[!A-Za-z0-9_-]*}
        is_there "$thing" && ! names_unwritten "$1" && return 1
        ;;
    *'smollm2.gguf'*)
        [ -e "$smollm2" ] && return 1
        thing=smollm2.gguf
        ;;
    *)
        names_unwritten "$1" || return 1
        ;;
    esac
    case $1 in
    *' writes '*) unwritten="$unwritten ${1##* writes }:$thing" ;;
    *' -o '*) unwritten="$unwritten $(expr "$1" : '.* -o \([^ ]*\)'):$thing" ;;
    esac
    [ -z "$together" ] || return 0
    leave_out "$thing is not installed"
}

# Whether a command runs a program that a bare machine lacks, without a comment that says so.
forgets_needs() { # LINE
    case $1 in *'# needs '*) return 1 ;; esac
    printf '%s\n' "$1" | grep -qE "(^|[;|&(] *)($guests) "
}

# Run a command in the copy, in this shell.
try() { # PLACE LINE EXPECTED
    ! forgets_needs "$2" || fail "$1: expected '# needs PROGRAM' at the end of: $2"
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

# Run all commands of a document in the present copy.
try_all() { # DOCUMENT
    rm -f "$scratch"/expected.*
    unwritten=
    divide "$1"
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

# Paste the README's first ```sh block into a shell: no command reads the lines after its own.
paste_block() {
    command -v bash >/dev/null || { leave_out 'bash is not installed' && return; }
    copy "$scratch/clone"
    begin=$(sed -n '/^```sh$/{=;q;}' README.md)
    end=$(sed -n "$begin,\$"'{/^```$/{=;q;};}' README.md)
    commands README.md | awk -F: -v begin="$begin" -v end="$end" -v lines="$scratch/lines" '
        $1 < begin { next }
        $1 > end { exit }
        / # takes / { next }
        { number = $1; sub(/^[0-9]*:/, ""); print; print "echo " number " >>ran"
          print number >lines }' >"$scratch/pasted"
    (cd "$scratch/clone" && bash -s <"$scratch/pasted") >"$scratch/log" 2>&1
    check 'README.md: bash -s runs all lines of the first block of sh' \
        diff "$scratch/lines" "$scratch/clone/ran"
    rm -rf "$scratch/clone"
}

document() { # DOCUMENT
    copy "$scratch/clone" || fail "$1: cannot copy the sources"
    try_all "$1"
    rm -rf "$scratch/clone"
}

: >"$scratch/left_over"
: >"$scratch/stale"
if [ -n "${LIST-}" ]; then
    for name in "$@"; do
        divide "$name"
    done
    awk '!/^    / { reason = $0 } /^    help / { print substr($0, 5) "    # " reason }' \
        tests/sources/left_over.txt | cat "$scratch/left_over" -
    exit
fi
cat >"$scratch/gpt2.json" <<'END'
{"model_type": "gpt2", "n_embd": 48, "n_layer": 12, "n_head": 12, "n_positions": 128,
 "vocab_size": 1024}
END
words=$(wc -w <README.md)
check "README.md: expected at most $WORDS_MAX words, found $words" [ "$words" -le $WORDS_MAX ]
# Blocks of the README fit beside the list of files on a page of a repository.
LC_ALL=C awk '/^```/ { inside = !inside; next }
    { line = $0; gsub(/[\200-\277]/, "", line) }
    inside && length(line) > 100 { print FILENAME ":" FNR ": " $0 }' README.md >"$scratch/wide"
check 'README.md: lines of code of at most 100 columns' diff /dev/null "$scratch/wide"
paste_block
for name in "$@"; do
    document "$name"
done
check 'left_over.txt has only commands of the documents' diff /dev/null "$scratch/stale"
skipped=$((skipped + $(wc -l <"$scratch/left_over")))
printf 'skipped: %d lines that take minutes, a download or a cluster (LIST=1 lists them)\n' \
    "$(wc -l <"$scratch/left_over")"
together=' after other documents'
[ "${TOGETHER-}" != no ] || set -- one
[ $# = 1 ] || copy "$scratch/clone" || fail 'cannot copy the sources'
[ $# = 1 ] || (cd "$scratch/clone" && git init -q && git add .)
for name in "$@"; do
    [ $# = 1 ] || try_all "$name"
done
# The commands change no file of the clone, and leave none that git status would show.
if [ $# != 1 ]; then
    if (cd "$scratch/clone" && git ls-files -m -o --exclude-standard) >"$scratch/left" &&
        [ ! -s "$scratch/left" ]; then
        pass
    else
        fail 'commands leave these files in the clone' "$scratch/left"
    fi
fi

closing
