#!/bin/sh
# Print C code with the headings of the guides, outside of their blocks of code, for the search of
# `attn-cli help`.
#
#     sh cmd/guides/embed.sh data/guides/*.md >build/cmd/guide_headings.c
set -eu

printf '/* Made by cmd/guides/embed.sh from data/guides. */\n#include "guide_headings.h"\n\n'
printf 'const struct guide_heading guide_headings[] = {\n'
LC_ALL=C awk '
    FNR == 1 { is_code = 0; guide = FILENAME; sub(/.*\//, "", guide); sub(/[.]md$/, "", guide) }
    /^ *```/ { is_code = !is_code }
    !is_code && /^#+ / {
        sub(/^#+ /, "")
        gsub(/[\\"]/, "\\\\&")
        printf "    {\"%s\", \"%s\"},\n", guide, $0
    }' "$@"
printf '};\n\nconst size_t guide_heading_count = sizeof guide_headings / sizeof *guide_headings;\n'
