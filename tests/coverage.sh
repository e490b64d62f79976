#!/bin/sh
# Lines of lib that no test reached, of those that say what went wrong or hand it on.
#
#     sh tests/coverage.sh [BUILD]     BUILD was made with --coverage, and its tests were run
#
# The last line but one says how many lines of lib were reached in all.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/coverage}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

root=$PWD
case $build in /*) ;; *) build=$root/$build ;; esac
(
    cd "$scratch" || exit
    find "$build/lib" -name '*.gcda' -exec gcov -p -r -s "$root" {} + >gcov.log 2>&1
)

# FILE.gcov has `COUNT:LINE:TEXT`, ##### for none.
for file in "$scratch"/*lib#*.c.gcov; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .gcov | tr '#' '/' | sed "s|.*lib/|lib/|")
    awk -F ':' -v name="$name" '
        $1 !~ /-/ { lines++ }
        $1 ~ /#####|=====/ {
            missed++
            text = $0
            sub(/^[^:]*:[^:]*:/, "", text)
            if (text ~ /err_|return -1|goto (done|failed)|failed = |return NULL|abort/)
                printf "%s:%d:%s\n", name, $2, text
        }
        END { print "#", lines + 0, missed + 0 }' "$file"
done >"$scratch/report"
grep -v '^#' "$scratch/report"
awk '/^#/ { lines += $2; missed += $3 }
    END { printf "%d of %d lines of lib were reached\n", lines - missed, lines }' "$scratch/report"
