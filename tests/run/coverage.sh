#!/bin/sh
# List the lines of lib that report or return an error and that no test reached.
#
#     sh tests/run/coverage.sh [BUILD]    BUILD was compiled with --coverage, and its tests were run
#
# The last line but one has the number of all lines of lib that were reached.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build/coverage}

# gcov writes `COUNT:LINE:TEXT`, with ##### for a count of 0; line 0 names the file.
find "$build/lib" -name '*.gcda' -exec gcov -t -r {} + 2>/dev/null | awk -F ':' '
    $2 == 0 && $3 == "Source" { name = $4 }
    name !~ /^lib\// || $2 == 0 || $1 ~ /-/ { next }
    { lines++ }
    $1 ~ /#####|=====/ {
        missed++
        text = $0
        sub(/^[^:]*:[^:]*:/, "", text)
        if (text ~ /err_|return -1|goto (done|failed)|failed = |return NULL|abort/)
            printf "%s:%d:%s\n", name, $2, text
    }
    END { print "#", lines + 0, missed + 0 }' >"$scratch/report"
grep -v '^#' "$scratch/report"
awk '/^#/ { lines += $2; missed += $3 }
    END { printf "%d of %d lines of lib were reached\n", lines - missed, lines }' "$scratch/report"
