#!/bin/sh
# Run the command-line cases. Each is a folder, tests/cli/GROUP/CASE/.
#
#     sh tests/cli/run.sh [BUILD [PATTERN...]]        those whose GROUP/CASE matches a pattern
#     UPDATE=1 sh tests/cli/run.sh build 'run/*'    write the present output as the expected output,
#                                                 unless a check in the case fails
#
# One process per processor runs a share of the cases: CLI_SHARE=1/2 is every second case, and
# CLI_SHARE=/24 a 24th, others for each SLICE. LIST=1 only prints their names.
#
#     cmd      a shell script, run in an empty temporary folder with empty standard input. $ATTN is
#              the program, $ROOT the repository (a relative path), $CASE the folder of the case.
#              Only tools of every system are found; `need TOOL` adds another, and skips the case if
#              it is missing; `skip REASON` skips it. cli/recipes.sh has functions that make models.
#              A check calls `wrong MESSAGE` if it fails.
#              To compare results of two command lines, `bare FILE` prints JSON without provenance,
#              `numbers FILE` a safetensors file without its header.
#     out      expected standard output; absent: none
#     err      expected standard error, then a line with the exit status, such as [3], unless it is
#              0; absent: none, and status 0
#
# In the output the repository's path is replaced by $ROOT, the version in JSON by $VERSION.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/pipes.sh
. tests/run/pipes.sh
# shellcheck source=tests/run/shares.sh
. tests/run/shares.sh
build=${1:-build}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- '*'

if [ -z "${CLI_SHARE-}" ]; then
    in_shares "$(nproc 2>/dev/null || echo 1)" 1 CLI_SHARE sh tests/cli/run.sh "$build" "$@"
    exit
fi
share=${CLI_SHARE%/*} shares=${CLI_SHARE#*/} number=0
: "${share:=$((${SLICE:-0} % shares + 1))}"
unset CLI_SHARE

# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
[ "$share" = 1 ] || progress_file='' # only the first share reports progress
cases=$(pwd)/tests/cli
# A link with a blank in its path: a case that does not quote $ATTN fails.
ATTN="$scratch/the program/attn-cli"
mkdir -m 755 "${ATTN%/*}"
ln -s "$(absolute "$build/attn-cli")" "$ATTN"
# A link to the repository: its relative path is the same on every machine, so that messages escape
# and wrap it in the same way.
ln -s "$(pwd)" "$scratch/root"
ROOT=../root
export ROOT ATTN
export TERM=dumb COLUMNS=80
unset ATTN_MODEL ATTN_MODEL_PATH NO_COLOR LIBXSMM_TARGET 2>/dev/null
export HF_HUB_CACHE=/dev/null/none # hide the user's own models

# Tools that every system has. A case must `need` any other, so that it is skipped, and does not
# fail, where that tool is missing.
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

# For cases: skip this case.
skip() { # REASON
    printf '%s\n' "$1" >"$scratch/skip"
    exit 0
}

# Tools that call other programs get the whole PATH.
need() { # TOOL
    where=$(PATH=$installed && command -v "$1") || skip "$1 is not installed"
    case $1 in
    man | groff | pdflatex | chromium | python3) PATH=$installed ;;
    *) mkdir -p "$scratch/needed" && ln -sf "$where" "$scratch/needed" ;;
    esac
}

# For cases: say why a check failed.
wrong() { # MESSAGE
    printf '%s\n' "$1" | tee -a "$scratch/wrong"
}

# For cases: a result in JSON without its provenance, which has the command line.
bare() { # FILE...
    sed -E 's/ *"provenance": \{([^{}]|\{[^{}]*\})*\},?//' "$@"
}

# For cases: the numbers of a safetensors file, without its header.
numbers() { # FILE
    tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"
}

# shellcheck source=tests/cli/recipes.sh
. tests/cli/recipes.sh

# If a folder cannot be removed, move it away, so that the next case has an empty one.
clear_away() {
    [ -e "$scratch/here" ] || return 0
    rm -rf "$scratch/skip" "$scratch/wrong" "$scratch/needed" "$scratch/here" 2>/dev/null ||
        remove "$scratch/here"
    [ ! -e "$scratch/here" ] || mv "$scratch/here" "$scratch/left.$((passed + failed + skipped))"
}

# Leaves `out` and `err` in $scratch, or `skip` with a reason.
run_case() {
    clear_away
    mkdir "$scratch/here"
    # Source the script instead of starting a shell: one process less for each case.
    # shellcheck disable=SC1091
    (
        cd "$scratch/here" && PATH=$scratch/basic:$scratch/needed && . "$CASE/cmd"
    ) >"$scratch/out" 2>"$scratch/err" </dev/null 3<&-
    status=$?
    [ $status = 0 ] || printf '[%d]\n' $status >>"$scratch/err"
}

# True if the output is the expected one.
same() { # out|err
    expected=$CASE/$1
    [ -f "$expected" ] || expected=/dev/null
    cmp -s "$expected" "$scratch/$1" && return
    # shellcheck disable=SC2016 # $ROOT is literal
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

# Lines of the output that no update may record: failed checks, messages and statuses of other
# programs, and differences that cmp found. Excepted are those that were recorded by hand.
failed_checks() {
    cat "$CASE/out" "$CASE/err" >"$scratch/recorded" 2>/dev/null
    {
        cat "$scratch/wrong" 2>/dev/null
        grep ' differ: ' "$scratch/out"
        grep -vE '^attn-cli: |^\[(2|3|4|5|130|143)\]$' "$scratch/err" |
            if grep -q 'items failed' "$scratch/err"; then grep -vFx '[1]'; else cat; fi
    } | grep -vFxf "$scratch/recorded"
}

update_case() {
    judge_case >/dev/null && pass && return
    failed_checks >"$scratch/refused"
    [ ! -s "$scratch/refused" ] || { fail "$name: not updated" "$scratch/refused" && return; }
    for part in out err; do
        rm -f "$CASE/$part"
        cmp -s "$scratch/$part" /dev/null || cp "$scratch/$part" "$CASE/$part"
    done
    printf 'updated: %s\n' "$name"
    pass
}

try_case() {
    # The pattern matched nothing, or the file was forgotten.
    [ -f "$CASE/cmd" ] || { fail "$name: no file cmd" && return; }
    run_case
    if [ -f "$scratch/skip" ]; then
        leave_out "$name: $(cat "$scratch/skip")"
    elif [ "${UPDATE-}" = 1 ]; then
        update_case
    elif judge_case >"$scratch/diff" 2>&1; then
        pass
    else
        cat "$CASE/cmd" "$scratch/diff" >"$scratch/why"
        fail "$name" "$scratch/why"
    fi
}

[ -x "$ATTN" ] || {
    fail "there is no $build/attn-cli"
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
    [ $((number % shares + 1)) = "$share" ] || continue
    if [ -n "${LIST-}" ]; then
        printf '%s\n' "$name"
    else
        try_case
    fi
done 3<"$scratch/chosen"
[ -n "${LIST-}" ] || closing
