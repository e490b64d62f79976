#!/bin/sh
# Check the order of folders and other rules of floors.awk in cmd and lib, and that all files that
# ARCHITECTURE.md names exist.
#
#     sh tests/floors.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh

climbs() { # prints a line for each violation
    find cmd lib -name '*.[ch]' | sort | xargs awk -f tests/floors.awk
}

is_absent() {
    # shellcheck disable=SC2016 # the page's quotes
    grep -oE '`(cmd|lib|tests|data|models)/[a-z0-9_./]+`' ARCHITECTURE.md | tr -d '`' | sort -u |
        while read -r path; do
            [ -e "$path" ] || printf '%s: no such file\n' "$path"
        done
}

same 'includes point down, and libraries, heap and exits stay where they belong' '' "$(climbs)"
same 'what ARCHITECTURE.md names is there' '' "$(is_absent)"
closing
