/* family_sites.h: sites that GPT-2, bare attention and the Transformer of 2017 do not have. */
#pragma once

#include <stdbool.h>

#include "model/site.h"

static inline bool is_family_site(int site)
{
    return site == SITE_Q_PRE || site == SITE_K_PRE || site == SITE_LN_1_POST ||
           site == SITE_MLP_GATE || site == SITE_MLP_UP || site == SITE_LN_2_POST;
}
