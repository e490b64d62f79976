/* Rows of the table of options: what a page holds besides. */
#include "../option_row.h"

static const struct option_row page_rows[] = {
    STRING("explain", 0, "LIST", page.explain, FOR_PAGE,
           "heads whose cells the page explains: 0.1,1.3, all or none (default: all, if that takes "
           "at most 1 MB)"),
    INTEGER("top", 0, "N", page.top, FOR_PAGE, 0, 1000,
            "store the N most likely next tokens at each position (default: 50; 0: none)"),
    FLAG("lens", 0, page.lens, FOR_PAGE, "add the logit lens"),
    STRING("scores", 0, "FILE", page.scores, FOR_PAGE,
           "add head scores, from 'attn-cli heads --format csv'"),
    FLAG("live", 0, page.live, FOR_PAGE, "include the model, to run other texts in the browser"),
    FLAG("unedited", 0, page.unedited, FOR_PAGE, "show each text before and after edits"),
};

const struct option_rows page_options = {page_rows, sizeof page_rows / sizeof *page_rows};
