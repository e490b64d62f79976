#!/bin/sh
# Check that each link of a Markdown file leads to a file and a heading that exist, and that text
# that guides copy from `attn-cli help` is up to date (`make guides` renews it).
#
#     sh tests/sources/links.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
attn=$(absolute "${1:-build}")/attn-cli

# shellcheck disable=SC2046 # a word a file
set -- $(find . \( -name build -o -name .git \) -prune -o -name '*.md' -print | sed 's|^\./||')
LC_ALL=C awk -f tests/sources/links.awk "$@" >"$scratch/dead"
check 'links lead to files and headings' diff /dev/null "$scratch/dead"

# The check finds what is wrong.
printf '# A b?\n[right](#a-b), [no heading](#b), [no file](b.md), [nothing](c.md#d)\n' \
    >"$scratch/a.md"
echo '# C' >"$scratch/c.md"
LC_ALL=C awk -f tests/sources/links.awk "$scratch/a.md" "$scratch/c.md" |
    sed 's/.*: \(.*: \)/\1/' >"$scratch/found"
printf '%s\n' '#b: no such heading' 'b.md: no such file' 'c.md#d: no such heading' \
    >"$scratch/expected"
check 'a dead link is found' diff "$scratch/expected" "$scratch/found"

cp -R data/guides "$scratch/guides"
chmod -R u+w "$scratch/guides" # the sources may be read-only
sh cmd/guides/reference.sh "$attn" "$scratch/guides"
check 'the guides have the text of help: make guides' diff -r data/guides "$scratch/guides"
closing
