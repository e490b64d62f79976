/* What is watched, and what goes into caches all the same. */

#include "../rigs/growth_rig.h"

#include "../unit.h"

/* Of the stack that has a site. */
static size_t layers_of(const struct config *config, int site)
{
    if (!site_rows[site].in_layer)
        return 1;
    return site_rows[site].part == PART_SOURCE ? config->n_encoder_layer : config->n_layer;
}

/* A pass that watches one site, and one that watches all and goes on from there. */
static void watch_one(struct growth *growth, enum site site, size_t layer)
{
    static struct record part;
    struct record_watch watch = {.sites = site_bit(site), .first_layer = layer};
    struct text text = growth_part(growth, 0, 40, &growth->cache);
    cache_forget(&growth->cache, 0);
    if (text.source_cache)
        cache_forget(text.source_cache, 0);
    record_pass(&part, &growth->model, &text, 1, &watch);
    record_expect_rows(&growth->whole, 0, &part, 0, 0);
    record_release(&part);
    growth_step(growth, 1);
}

TEST_LOOP(what_is_watched_does_not_change_what_is_kept, PRECISIONS)
{
    static const char *const configs[] = {growth_gpt2, growth_norms_last, growth_norms_first};
    static struct growth growth;
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
        growth_open(&growth, configs[c], 150, (enum precision)_i);
        struct record_watch all = record_all(&growth.model);
        for (int site = 0; site < SITE_COUNT; site++)
            for (size_t layer = 0; layer < 3; layer++)
                if (all.sites >> site & 1 && layer < layers_of(&growth.model.config, site))
                    watch_one(&growth, (enum site)site, layer);
        growth_release(&growth);
    }
}

/* It may be forgotten as it was put in; and a text that fails leaves it as it was. */
TEST_LOOP(a_source_is_read_once, PRECISIONS)
{
    static struct growth growth;
    static struct record part;
    growth_open(&growth, growth_norms_first, 150, (enum precision)_i);
    struct record_watch all = record_all(&growth.model);
    struct record_watch of_source = {.sites = 0};
    for (int site = 0; site < SITE_COUNT; site++)
        if (site_is_of_source((enum site)site))
            of_source.sites |= all.sites & site_bit((enum site)site);
    for (int round = 0; round < 2; round++) {
        struct text text = growth_part(&growth, 0, 5, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &of_source);
        record_expect_rows(&growth.whole, 0, &part, 0, 0);
        record_release(&part);
        text = growth_part(&growth, 5, 9, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &of_source);
        ck_assert_uint_eq(part.count, 0);
        record_release(&part);
        growth_step(&growth, 1);
        cache_forget(&growth.cache, 0);
        growth_step(&growth, 20); /* another text, but the same source */
        cache_forget(&growth.cache, 0);
        cache_forget(&growth.of_source, 0);
    }
    growth_release(&growth);
}

/* Also of those that nobody looks at now. */
TEST_LOOP(every_head_is_kept, PRECISIONS)
{
    static const enum site sites[] = {SITE_Q, SITE_K, SITE_WEIGHTS, SITE_CONTEXT};
    static const char *const configs[] = {growth_gpt2, growth_grouped, growth_norms_last};
    static struct growth growth;
    static struct record part;
    for (size_t i = 0; i < 3 * sizeof sites / sizeof *sites; i++) {
        growth_open(&growth, configs[i % 3], 60, (enum precision)_i);
        struct record_watch watch = {.sites = site_bit(sites[i / 3]),
                                     .first_layer = growth.model.config.n_layer - 1,
                                     .head_count = 1};
        struct text text = growth_part(&growth, 0, 40, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &watch);
        record_release(&part);
        growth_step(&growth, 20);
        growth_release(&growth);
    }
}
