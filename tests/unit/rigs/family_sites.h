/* family_sites.h: sites that GPT-2, bare attention and the Transformer of 2017 do not have. */
#ifndef ATTN_TESTS_FAMILY_SITES_H
#define ATTN_TESTS_FAMILY_SITES_H

#include <stdbool.h>

#include "model/site.h"

static inline bool is_family_site(int site)
{
    return site == SITE_Q_PRE || site == SITE_K_PRE || site == SITE_LN_1_POST ||
           site == SITE_MLP_GATE || site == SITE_MLP_UP || site == SITE_LN_2_POST;
}

#endif
