#include "lens/derive.h"

#include <string.h>

#include "base/names.h"
#include "lens/fold.h"
#include "lens/mean.h"
#include "lens/spans.h"

int derive_read_mean(struct derivation *how, const char *list, struct err *err)
{
    static const char *const things[] = {"heads", "layers"};
    bool *const means[] = {&how->mean_of_heads, &how->mean_of_layers};
    for (const char *name = list;; name++) {
        size_t size = strcspn(name, ",");
        size_t index = 0;
        if (names_choose_item(&index, NAMES_LIST(things), "--mean", name, size, err))
            return -1;
        *means[index] = true;
        name += size;
        if (*name == '\0')
            return 0;
    }
}

int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err)
{
    if (!how->words)
        return 0;
    if (!tokenizer)
        return err_usage(err, "--words: expected a model with a tokenizer, found one that takes "
                              "ids: they have no words");
    for (int site = 0; site < SITE_COUNT; site++)
        if (selection->sites >> site & 1 && !fold_has_words((enum site)site))
            return err_usage(err,
                             "--words: '%s' has no meaning for a word of several tokens: leave it "
                             "out of --show",
                             site_rows[site].name);
    return 0;
}

static int merge_words(struct report *report, const struct tokenizer *tokenizer,
                       struct arena *arena, struct err *err)
{
    if (spans_find(&report->sentence, tokenizer, arena, err))
        return -1;
    if (report->source.count && spans_find(&report->source, tokenizer, arena, err))
        return -1;
    return fold_words(report, arena, err);
}

/* Means come first: the rest has less to do then, and the numbers are the same but for rounding. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err)
{
    if (how->mean_of_heads && mean_over_heads(report, arena, err))
        return -1;
    if (how->mean_of_layers && mean_over_layers(report, arena, err))
        return -1;
    if (how->words && merge_words(report, tokenizer, arena, err))
        return -1;
    return how->hide_first ? fold_hide_first(report, arena, err) : 0;
}
