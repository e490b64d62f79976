#!/bin/sh
# Run the command-line cases: a folder a case, tests/cli/GROUP/CASE/.
#
#     sh tests/cli.sh [BUILD [PATTERN...]]        cases whose GROUP/CASE matches a shell pattern
#     UPDATE=1 sh tests/cli.sh build 'run/*'      write what happens now as what is expected
#
# As many processes as there are processors take every so many-th case each: CLI_SHARE=1/2.
#
#     cmd      shell, run in a fresh temporary folder, standard input empty; $ATTN is the program,
#              $ROOT the repository, by a path from that folder, $CASE the case's own; `need TOOL`
#              skips where it is missing, `skip REASON` for any other reason; no tool is found that
#              not every system has, unless it is needed; cli/recipes.sh makes models; `bare FILE`
#              prints JSON without its provenance and `numbers FILE` what a safetensors file has
#              after its header, so that results of two command lines compare
#     out      expected standard output; nothing where the file is absent
#     err      expected standard error, and after it a line with the exit status unless it is 0,
#              as in [3]; nothing and 0 where the file is absent
#
# The repository's own path in what is printed is compared as $ROOT, the version of JSON as
# $VERSION.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- '*'

# Not in the background, where interrupts are ignored. A share that ends early has failed.
in_shares() { # COUNT BUILD PATTERN...
    count=$1
    shift
    seq "$count" | xargs -P "$count" -I {} env "CLI_SHARE={}/$count" sh tests/cli.sh "$@" |
        awk -v count="$count" '
            /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5; ended++ }
            !/^[0-9]+ passed, [0-9]+ failed/ { print; fflush() }
            END {
                printf "%d passed, %d failed", passed, failed + (count - ended)
                print (skipped ? ", " skipped " skipped" : "")
                exit failed > 0 || ended != count
            }'
}

if [ -z "${CLI_SHARE-}" ]; then
    in_shares "$(nproc 2>/dev/null || echo 1)" "$build" "$@"
    exit
fi
share=${CLI_SHARE%/*} shares=${CLI_SHARE#*/} number=0
unset CLI_SHARE

# shellcheck source=tests/tally.sh
. tests/tally.sh
[ "$share" = 1 ] || progress_file='' # the first one's progress is that of all
cases=$(pwd)/tests/cli
case $build in
/*) ATTN=$build/attn-cli ;;
*) ATTN=$(pwd)/$build/attn-cli ;;
esac
# Seen from a case's folder, the same wherever the repository is: its name need not be escaped as
# the format has it, nor wrapped where a line ends.
ln -s "$(pwd)" "$scratch/root"
ROOT=../root
export ROOT ATTN
export TERM=dumb COLUMNS=80
unset ATTN_MODEL ATTN_MODEL_PATH NO_COLOR LIBXSMM_TARGET 2>/dev/null
export HF_HUB_CACHE=/dev/null/none # no model of whoever runs this

# Every case may use what each system has; the rest is what it must `need`, so that it is left out
# where that is missing, and not run into its absence.
basic='awk basename cat chmod cmp comm cp cut date dd diff dirname echo env expr false find fold
    grep head id join kill ln ls mkdir mkfifo mktemp mv nl od paste printf pwd readlink rm
    rmdir sed seq sh sleep sort split stat stty tail tee test timeout touch tr true truncate
    uname uniq wc xargs yes'
installed=$PATH
mkdir "$scratch/basic"
(
    set -f
    for tool in $basic; do
        IFS=:
        for folder in $PATH; do
            [ ! -x "$folder/$tool" ] || { ln -s "$folder/$tool" "$scratch/basic" && break; }
        done
        unset IFS
    done
)

# For cases: leave this one out.
skip() { # REASON
    printf '%s\n' "$1" >"$scratch/skip"
    exit 0
}

# Those that are made of other programs get all of them.
need() { # TOOL
    where=$(PATH=$installed && command -v "$1") || skip "$1 is not installed"
    case $1 in
    man | groff | pdflatex | chromium | python3) PATH=$installed ;;
    *) mkdir -p "$scratch/needed" && ln -sf "$where" "$scratch/needed" ;;
    esac
}

# For cases: a result in JSON without its provenance, which has the command line.
bare() { # FILE...
    sed 's/ *"provenance": {[^}]*},//' "$@"
}

# For cases: the numbers of a safetensors file, without its header.
numbers() { # FILE
    tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"
}

# shellcheck source=tests/cli/recipes.sh
. tests/cli/recipes.sh

# A folder that will not go away is left to itself: the next case has another.
clear_away() {
    rm -f "$scratch/skip"
    [ ! -d "$scratch/needed" ] || rm -rf "$scratch/needed"
    [ -e "$scratch/here" ] || return 0
    remove "$scratch/here"
    [ ! -e "$scratch/here" ] || mv "$scratch/here" "$scratch/left.$((passed + failed + skipped))"
}

# Leaves `out` and `err` in $scratch, or `skip` with a reason.
run_case() {
    clear_away
    mkdir "$scratch/here"
    # The command stands in a file and is read, not started: a process less for each case.
    # shellcheck disable=SC1091
    (
        cd "$scratch/here" && PATH=$scratch/basic:$scratch/needed && . "$CASE/cmd"
    ) >"$scratch/out" 2>"$scratch/err" </dev/null 3<&-
    status=$?
    [ $status = 0 ] || printf '[%d]\n' $status >>"$scratch/err"
}

# True when what happened is what was expected.
same() { # out|err
    expected=$CASE/$1
    [ -f "$expected" ] || expected=/dev/null
    cmp -s "$expected" "$scratch/$1" && return
    # shellcheck disable=SC2016 # it stands so in what is expected
    sed -e 's|\.\./root|$ROOT|g' -e 's|\(\\*"version\\*": \\*"\)[0-9.]*|\1$VERSION|' \
        "$scratch/$1" >"$scratch/plain" && mv "$scratch/plain" "$scratch/$1"
    cmp -s "$expected" "$scratch/$1" && return
    diff -u -L "expected $1" -L "found $1" "$expected" "$scratch/$1"
    return 1
}

judge_case() {
    verdict=0
    same out || verdict=1
    same err || verdict=1
    return $verdict
}

update_case() {
    judge_case >/dev/null && return
    for part in out err; do
        rm -f "$CASE/$part"
        cmp -s "$scratch/$part" /dev/null || cp "$scratch/$part" "$CASE/$part"
    done
    printf 'updated: %s\n' "$name"
}

try_case() {
    # A name that globbing found nothing for, or a forgotten file.
    [ -f "$CASE/cmd" ] || { fail "$name: it has no file cmd" && return; }
    run_case
    if [ -f "$scratch/skip" ]; then
        leave_out "$name: $(cat "$scratch/skip")"
    elif [ "${UPDATE-}" = 1 ]; then
        update_case
        pass
    elif judge_case >"$scratch/diff" 2>&1; then
        pass
    else
        fail "$name: $(cat "$CASE/cmd")" "$scratch/diff"
    fi
}

[ -x "$ATTN" ] || {
    fail "there is no $ATTN"
    closing
    exit
}

matches() { # NAME PATTERN...
    matched=$1
    shift
    for pattern in "$@"; do
        # shellcheck disable=SC2254 # it is a pattern
        case $matched in $pattern) return 0 ;; esac
    done
    return 1
}

for CASE in "$cases"/*/*/; do
    CASE=${CASE%/}
    matches "${CASE#"$cases/"}" "$@" && printf '%s\n' "$CASE"
done >"$scratch/chosen"
total=$((($(wc -l <"$scratch/chosen") + shares - 1) / shares))
while read -r CASE <&3; do
    name=${CASE#"$cases/"}
    number=$((number + 1))
    [ $((number % shares + 1)) != "$share" ] || try_case
done 3<"$scratch/chosen"
closing
