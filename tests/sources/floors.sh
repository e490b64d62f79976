#!/bin/sh
# Check the order of folders and other rules of floors.awk in cmd and lib, and that all files that
# ARCHITECTURE.md names exist. The names that objects use come from BUILD/internal.a, if it exists.
#
#     sh tests/sources/floors.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh

# Names that the objects of the library and of the command line use and define, with their source
# files. Members of an archive have no folder; objects of cmd are named by path.
symbols() {
    find lib -name '*.c' | sed 's|.*/\(.*\)\.c$|\1.o &|' >"$scratch/sources"
    nm -A -g "${1:-build}/internal.a" 2>/dev/null | sed 's/^[^:]*://; s/:[0-9a-f]* */ /' |
        awk 'FILENAME != "-" { source[$1] = $2; next }
            $1 in source { print $2, $3, source[$1] }' "$scratch/sources" -
    nm -A -g "${1:-build}"/cmd/*.o 2>/dev/null |
        sed -n 's|^.*/cmd/\([^:]*\)\.o:[0-9a-f]* *\([A-Z]\) \(.*\)|\2 \3 cmd/\1.c|p'
}

climbs() { # prints a line for each violation
    { find cmd lib -name '*.[ch]' | sort; echo "$scratch/symbols"; } |
        xargs awk -f tests/sources/floors.awk
}

is_absent() {
    # shellcheck disable=SC2016 # the page's quotes
    grep -oE '`(cmd|lib|tests|data|models)/[a-z0-9_./]+`' ARCHITECTURE.md | tr -d '`' | sort -u |
        while read -r path; do
            [ -e "$path" ] || printf '%s: no such file\n' "$path"
        done
}

symbols "$@" >"$scratch/symbols"
[ -s "$scratch/symbols" ] || leave_out 'names of objects: no internal.a'
same 'includes and names point down in small rings; libraries, heap, exits are where they belong' \
    '' \
    "$(climbs)"
same 'what ARCHITECTURE.md names is there' '' "$(is_absent)"
closing
