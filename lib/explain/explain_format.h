/* explain_format.h: the forms that explanations take; one row and one file a form. What is to be
 * read comes to its file piece by piece, by explain_walk.h.
 *
 *     const struct explain_format *format = &explain_formats[0];
 *     if (format->write(&stream, &explanations, &page, err)) ...
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_FORMAT_H
#define ATTN_EXPLAIN_EXPLAIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"
#include "explain/explanation.h"

/* How much there is room for. */
struct explain_page {
    size_t columns; /* of a terminal; 0: endless */
    bool full;      /* nothing is left out: long vectors are whole in every form */
};

struct explain_format {
    const char *name;   /* as in --format */
    const char *ending; /* of file names, with its dot */
    const char *about;  /* a line for help */
    bool for_files;     /* nothing for a terminal */
    int (*write)(struct stream *out, const struct explanations *explanations,
                 const struct explain_page *page, struct err *err);
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: it can */
};

extern const struct explain_format explain_formats[]; /* text first */
extern const size_t explain_format_count;

/* The rows' writers, each in the file of its name. Failures to write stick to the stream; -1 with
 * `err` for what a writer can tell itself. */
int explain_text_write(struct stream *, const struct explanations *, const struct explain_page *,
                       struct err *);
int explain_markdown_write(struct stream *, const struct explanations *,
                           const struct explain_page *, struct err *);
int explain_latex_write(struct stream *, const struct explanations *, const struct explain_page *,
                        struct err *);
int explain_html_write(struct stream *, const struct explanations *, const struct explain_page *,
                       struct err *);
int explain_pdf_write(struct stream *, const struct explanations *, const struct explain_page *,
                      struct err *);
int explain_json_write(struct stream *, const struct explanations *, const struct explain_page *,
                       struct err *);

#endif
