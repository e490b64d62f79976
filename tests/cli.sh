#!/bin/sh
# Run the command-line cases: a folder a case, tests/cli/GROUP/CASE/.
#
#     sh tests/cli.sh [BUILD [PATTERN]]           cases whose GROUP/CASE matches the shell pattern
#     UPDATE=1 sh tests/cli.sh build 'run/*'      write what happens now as what is expected
#
#     cmd      shell, run in a fresh temporary folder, standard input empty; $ATTN is the program,
#              $ROOT the repository, $CASE the case's folder; `need TOOL` skips where it is
#              missing, `skip REASON` for any other reason; cli/recipes.sh makes models
#     out      expected standard output   \
#     err      expected standard error     }  nothing, nothing and 0 where the file is absent
#     status   expected exit status       /
#
# The repository's own path in what is printed is compared as $ROOT.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
pattern=${2:-*}

ROOT=$(pwd)
case $build in
/*) ATTN=$build/attn-cli ;;
*) ATTN=$ROOT/$build/attn-cli ;;
esac
export ROOT ATTN
export LC_ALL=C.UTF-8 TERM=dumb COLUMNS=80
unset ATTN_MODEL NO_COLOR LIBXSMM_TARGET 2>/dev/null

scratch=$(mktemp -d) || exit 1
scratch=$(cd "$scratch" && pwd -P)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

# For cases: leave this one out.
skip() { # REASON
    printf '%s\n' "$1" >"$scratch/skip"
    exit 0
}

need() { # TOOL
    command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"
}

# shellcheck source=tests/cli/recipes.sh
. tests/cli/recipes.sh

# Leaves `out`, `err` and `status` in $scratch, or `skip` with a reason.
run_case() {
    rm -rf "$scratch/here" "$scratch/skip"
    mkdir "$scratch/here"
    # The command stands in a file and is read, not started: a process less for each case.
    # shellcheck disable=SC1091
    (cd "$scratch/here" && . "$CASE/cmd") >"$scratch/out" 2>"$scratch/err" </dev/null
    printf '%s\n' $? >"$scratch/status"
}

# True when what happened is what was expected.
same() { # out|err|status DEFAULT
    expected=$CASE/$1
    [ -f "$expected" ] || expected=$2
    cmp -s "$expected" "$scratch/$1" && return
    sed "s|$ROOT|\$ROOT|g" "$scratch/$1" >"$scratch/plain" && mv "$scratch/plain" "$scratch/$1"
    cmp -s "$expected" "$scratch/$1" && return
    diff -u -L "expected $1" -L "found $1" "$expected" "$scratch/$1"
    return 1
}

judge_case() {
    verdict=0
    same status "$scratch/zero" || verdict=1
    same out /dev/null || verdict=1
    same err /dev/null || verdict=1
    return $verdict
}

update_case() {
    judge_case >/dev/null && return
    for part in out err status; do
        rm -f "$CASE/$part"
        cmp -s "$scratch/$part" /dev/null || cp "$scratch/$part" "$CASE/$part"
    done
    cmp -s "$CASE/status" "$scratch/zero" && rm "$CASE/status"
    printf 'updated: %s\n' "$name"
}

[ -x "$ATTN" ] || {
    printf 'there is no %s\n0 passed, 1 failed\n' "$ATTN"
    exit 1
}
echo 0 >"$scratch/zero"
for CASE in "$ROOT"/tests/cli/*/*/; do
    CASE=${CASE%/}
    name=${CASE#"$ROOT/tests/cli/"}
    # shellcheck disable=SC2254 # it is a pattern
    case $name in $pattern) ;; *) continue ;; esac
    [ -f "$CASE/cmd" ] || { # a name that globbing found nothing for, or a forgotten file
        printf 'FAILED %s: it has no file cmd\n' "$name"
        failed=$((failed + 1))
        continue
    }
    run_case
    if [ -f "$scratch/skip" ]; then
        printf 'skipped: %s: %s\n' "$name" "$(cat "$scratch/skip")"
        skipped=$((skipped + 1))
    elif [ "${UPDATE-}" = 1 ]; then
        update_case
        passed=$((passed + 1))
    elif judge_case >"$scratch/diff" 2>&1; then
        passed=$((passed + 1))
    else
        printf 'FAILED %s: %s\n' "$name" "$(cat "$CASE/cmd")"
        cat "$scratch/diff"
        failed=$((failed + 1))
    fi
done

closing="$passed passed, $failed failed"
[ "$skipped" = 0 ] || closing="$closing, $skipped skipped"
printf '%s\n' "$closing"
[ "$failed" = 0 ]
