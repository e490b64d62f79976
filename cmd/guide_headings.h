/* guide_headings.h: the headings of the guides in data/guides, for the search of `attn-cli help`.
 * cmd/guides/embed.sh makes the table. */
#pragma once

#include <stddef.h>

extern const struct guide_heading {
    const char *guide; /* the name of the file, without .md */
    const char *text;  /* the heading, without its # */
} guide_headings[];

extern const size_t guide_heading_count;
