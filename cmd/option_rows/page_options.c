/* Rows of the table of options: what a page to look around in holds besides tensors. */
#include "../option_row.h"

static const struct option_row page_rows[] = {
    STRING("explain", 0, "LIST", page.explain, FOR_PAGE,
           "the heads whose cells the page explains, by exact queries, keys and values: 0.1,1.3 "
           "(LAYER.HEAD), all or none (default: all, where that is no more than 1 MB)"),
};

const struct option_rows page_options = {page_rows, sizeof page_rows / sizeof *page_rows};
