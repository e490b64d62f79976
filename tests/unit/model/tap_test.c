#include "base/arena.h"
#include "model/config.h"
#include "model/tap.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

enum { LAYERS = 3 };

static const struct config config = {.n_layer = LAYERS, .norm_first = true};
static struct arena arena;
static struct watch watch;

static void watch_nothing(void)
{
    arena_release(&arena);
    arena = (struct arena){0};
    ck_assert_int_eq(watch_init(&watch, &config, &arena, NULL), 0);
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(watch_nothing, release)

/* Every (site, layer) in the order of the pass; those of no layer stand once. Phases are the
 * embeddings, the encoder's layers, its norm, the decoder's layers, and the end. */
static size_t place_of(enum site site, size_t layer, bool norm_first)
{
    static const enum site lasts[] = {SITE_SOURCE_EMBEDDING, SITE_ENC_RESID_POST, SITE_ENC_LN_F,
                                      SITE_RESID_POST, SITE_LOGITS};
    static const enum site norms[][2] = {{SITE_ENC_LN_1, SITE_ENC_RESID_MID},
                                         {SITE_ENC_LN_2, SITE_ENC_RESID_POST},
                                         {SITE_LN_1, SITE_RESID_MID},
                                         {SITE_LN_CROSS, SITE_RESID_CROSS},
                                         {SITE_LN_2, SITE_RESID_POST}};
    size_t phase = 0;
    size_t place = 2 * (size_t)site;
    while (site > lasts[phase])
        phase++;
    for (size_t i = 0; i < sizeof norms / sizeof *norms && !norm_first; i++)
        if (norms[i][0] == site)
            place = 2 * (size_t)norms[i][1] + 1;
    return (phase * LAYERS + (site_rows[site].in_layer ? layer : 0)) * 2 * SITE_COUNT + place;
}

TEST(a_fresh_watch_has_nothing)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        for (size_t layer = 0; layer < LAYERS; layer++) {
            ck_assert(!watch_has(&watch, (enum site)site, layer));
            ck_assert(!watch_after(&watch, (enum site)site, layer));
            ck_assert(!watch_from(&watch, (enum site)site, layer));
        }
    }
}

/* Each pair watched alone is judged against the order of the pass, from every other pair. */
static void check_pair(const struct config *of, enum site watched, size_t watched_layer)
{
    size_t place = place_of(watched, watched_layer, of->norm_first);
    ck_assert_int_eq(watch_init(&watch, of, &arena, NULL), 0);
    watch_add(&watch, watched, watched_layer);
    for (int i = 0; i < SITE_COUNT; i++) {
        for (size_t layer = 0; layer < LAYERS; layer++) {
            enum site site = (enum site)i;
            size_t here = place_of(site, layer, of->norm_first);
            bool right = watch_has(&watch, site, layer) == (here == place) &&
                         watch_after(&watch, site, layer) == (here < place) &&
                         watch_from(&watch, site, layer) == (here <= place);
            if (!right)
                ck_abort_msg("%s %zu is watched: wrong at %s %zu", site_rows[watched].name,
                             watched_layer, site_rows[site].name, layer);
        }
    }
}

TEST(has_after_and_from_follow_the_order_of_the_pass)
{
    static const struct config configs[] = {
        {.n_layer = LAYERS, .norm_first = true},
        {.n_layer = LAYERS, .n_encoder_layer = LAYERS},
        {.n_layer = 1, .n_encoder_layer = LAYERS, .norm_first = true},
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        for (int site = 0; site < SITE_COUNT; site++)
            for (size_t layer = 0; layer < LAYERS; layer++)
                check_pair(&configs[i], (enum site)site, layer);
}

TEST(a_part_is_watched_when_any_of_its_sites_is)
{
    ck_assert(!watch_has_any(&watch, PART_SOURCE));
    watch_add(&watch, SITE_WEIGHTS, 2);
    watch_add(&watch, SITE_CROSS_WEIGHTS, 1);
    ck_assert(!watch_has_any(&watch, PART_SOURCE));
    ck_assert(watch_has_any(&watch, PART_CROSS));
    watch_add(&watch, SITE_ENC_V, 2);
    ck_assert(watch_has_any(&watch, PART_SOURCE));
    watch_nothing();
    watch_add(&watch, SITE_SOURCE_EMBEDDING, 0);
    ck_assert(watch_has_any(&watch, PART_SOURCE));
}

TEST(what_is_added_stays_beside_what_was_there)
{
    watch_add(&watch, SITE_WEIGHTS, 0);
    watch_add(&watch, SITE_LOGITS, 0);
    watch_add(&watch, SITE_WEIGHTS, 2);
    watch_add(&watch, SITE_WEIGHTS, 2);
    ck_assert(watch_has(&watch, SITE_WEIGHTS, 0) && watch_has(&watch, SITE_WEIGHTS, 2));
    ck_assert(!watch_has(&watch, SITE_WEIGHTS, 1) && !watch_has(&watch, SITE_CONTEXT, 0));
    ck_assert(watch_has(&watch, SITE_LOGITS, 0) && watch_has(&watch, SITE_LOGITS, 1));
}

TEST(without_memory_there_is_no_watch)
{
    struct arena none = {0};
    struct err err = {0};
    heap_fail_at(1, 0);
    ck_assert_int_eq(watch_init(&watch, &config, &none, &err), -1);
    heap_fail_at(0, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
}
