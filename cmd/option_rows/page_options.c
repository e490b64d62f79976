/* Rows of the table of options: what a page holds besides. */
#include "../option_row.h"

static const struct option_row page_rows[] = {
    STRING("explain", 0, "LIST", page.explain, FOR_PAGE,
           "the heads whose cells the page explains, by exact queries, keys and values: 0.1,1.3 "
           "(LAYER.HEAD), all or none (default: all, where that is no more than 1 MB)"),
    INTEGER("top-k", 0, "K", page.top_k, FOR_PAGE, 0, 1000,
            "the K likeliest tokens after each one (default: 50; 0: none)"),
    FLAG("lens", 0, page.lens, FOR_PAGE, "what every layer would say comes next, too"),
    STRING("scores", 0, "FILE", page.scores, FOR_PAGE,
           "what every head does, as 'attn-cli heads --format csv' has written it: names on "
           "thumbnails, which are sorted by any score"),
    FLAG("live", 0, page.live, FOR_PAGE,
         "the page holds the model, and runs it: on a text that is typed into it, with heads "
         "switched off, at a temperature"),
    FLAG("unedited", 0, page.unedited, FOR_PAGE,
         "every text twice, without what --edit and its like change, and with it"),
};

const struct option_rows page_options = {page_rows, sizeof page_rows / sizeof *page_rows};
