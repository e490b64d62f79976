#include "measure/head_atlas.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/stream.h"
#include "model/site.h"
#include "pass/tap.h"

static struct atlas atlas;
static struct arena arena;
static struct err err;

static void leave(void)
{
    atlas_release(&atlas);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static const struct atlas_plan plan = {.intervals = 5,
                                       .samples = 3,
                                       .top_samples = 10,
                                       .keys = 2,
                                       .floor = 0.005,
                                       .warm_up = 50,
                                       .of_headvis = true,
                                       .bos = -1};

static const uint32_t ids[] = {5, 6, 7};
static const struct atlas_corpus corpus = {.begin = 0, .end = 300, .ids = 8};

/* Head 1.3 of a text of three tokens: the third attends to the second, others to the first. */
static void add(struct atlas *to, size_t number, float top)
{
    const float rows[3][3] = {{1}, {1 - top / 2, top / 2}, {1 - top, top, 0}};
    struct atlas_text text = {.ids = ids, .count = 3, .number = number};
    ck_assert_int_eq(atlas_text_init(&text, to, &arena, &err), 0);
    for (size_t query = 0; query < 3; query++)
        atlas_see(
            &text,
            &(struct attention_map_row){
                .layer = 1, .head = 3, .query = query, .keys = query + 1, .values = rows[query]});
    ck_assert_int_eq(atlas_add(to, &text, &err), 0);
    arena_clear(&arena);
}

static void begin(struct atlas *to, const struct atlas_plan *with)
{
    *to = (struct atlas){.plan = *with};
    ck_assert_int_eq(atlas_open(to, 2, 4, &err), 0);
}

static float top_of(size_t number)
{
    return (float)(number * 7919 % 1000) / 1000;
}

/* The texts that Python's random.Random keeps, by the same rules in numpy. */
TEST(samples_are_those_of_the_reference)
{
    static const float limits[] = {0.19f, 0.38f, 0.595f, 0.785f};
    static const uint64_t texts[] = {66, 65, 75, 67, 77};
    static const size_t expected[5][10] = {{393, 134, 319},
                                           {243, 95, 368},
                                           {351, 339, 130},
                                           {374, 188, 324},
                                           {321, 284, 247, 210, 173, 136, 99, 62, 383, 346}};
    begin(&atlas, &plan);
    for (size_t number = 0; number < 400; number++)
        add(&atlas, number, top_of(number));
    const struct atlas_head *head = &atlas.heads[1 * 4 + 3];
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(head->intervals[i].count, i < 4 ? 3 : 10);
        ck_assert_uint_eq(head->intervals[i].texts, texts[i]);
        for (size_t k = 0; k < head->intervals[i].count; k++) {
            ck_assert_uint_eq(head->intervals[i].items[k].text, expected[i][k]);
            ck_assert_float_eq(head->intervals[i].items[k].top, top_of(expected[i][k]));
        }
        ck_assert(i == 4 || head->limits[i] == limits[i]);
    }
    ck_assert_uint_eq(head->bins[0], 9); /* of 400 texts, with maxima below 0.02 */
    ck_assert_uint_eq(atlas.texts, 400);
    ck_assert_uint_eq(atlas.tokens, 1200);
}

TEST(the_first_of_equal_texts_stay)
{
    struct atlas_plan all = plan;
    all.of_headvis = false;
    all.warm_up = 0;
    begin(&atlas, &all);
    for (size_t number = 0; number < 30; number++)
        add(&atlas, number, number == 20 ? 0.75f : 0.5f);
    const struct atlas_interval *highest = &atlas.heads[7].intervals[4];
    ck_assert_uint_eq(highest->items[0].text, 20);
    for (size_t i = 1; i < 10; i++)
        ck_assert_uint_eq(highest->items[i].text, i - 1);
}

TEST(texts_of_the_warm_up_are_sampled_once_the_intervals_are_known)
{
    struct atlas_plan all = plan;
    all.of_headvis = false;
    begin(&atlas, &all);
    for (size_t number = 0; number < 50; number++) {
        ck_assert(atlas_is_warming(&atlas));
        add(&atlas, number, top_of(number));
    }
    ck_assert(!atlas_is_warming(&atlas));
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(atlas.heads[7].intervals[i].texts, 10);
    ck_assert_uint_eq(atlas.heads[7].intervals[4].items[0].text, 25);
}

TEST(entries_are_the_largest_weights_in_the_order_of_keys)
{
    const float row[] = {0.004f, 0.3f, 0.1f, 0.3f, 0.29604f, 0};
    static const uint32_t six[] = {0, 1, 2, 3, 4, 5};
    struct atlas_text text = {.ids = six, .count = 6};
    begin(&atlas, &plan);
    ck_assert_int_eq(atlas_text_init(&text, &atlas, &arena, &err), 0);
    struct attention_map_row seen = {.query = 5, .keys = 6, .values = row};
    atlas_see(&text, &seen);
    const uint32_t *entries = text.entries + 5 * plan.keys;
    ck_assert_uint_eq(atlas_entry_key(entries[0]), 1);
    ck_assert_uint_eq(atlas_entry_key(entries[1]), 3);
    ck_assert_float_eq(atlas_entry_weight(entries[1]), 0.3f);
    seen = (struct attention_map_row){.query = 4, .keys = 1, .values = row};
    atlas_see(&text, &seen);
    ck_assert_uint_eq(text.entries[4 * plan.keys], 0); /* below the floor */
    ck_assert_float_eq(text.best[4].weight, 0);        /* the first key counts for nothing */
    ck_assert_uint_eq(text.best[5].key, 1);
}

TEST(large_weights_are_cut_and_those_without_a_value_left_out)
{
    const float row[] = {NAN, 2, 1e9f, INFINITY};
    static const uint32_t four[] = {0, 1, 2, 3};
    struct atlas_text text = {.ids = four, .count = 4};
    struct atlas_plan wide = plan;
    wide.keys = 4;
    wide.floor = 0;
    begin(&atlas, &wide);
    ck_assert_int_eq(atlas_text_init(&text, &atlas, &arena, &err), 0);
    atlas_see(&text, &(struct attention_map_row){.query = 3, .keys = 4, .values = row});
    const uint32_t *entries = text.entries + 3 * wide.keys;
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(atlas_entry_key(entries[i]), i + 1);
        ck_assert_float_eq(atlas_entry_weight(entries[i]), 1.6383f);
    }
    ck_assert_uint_eq(entries[3], 0);
    ck_assert_int_eq(atlas_add(&atlas, &text, &err), 0);
    ck_assert_uint_eq(atlas.heads[0].bins[ATLAS_BINS - 1], 1);
}

static const uint32_t *ids_of(void *context, size_t text, struct err *error)
{
    (void)context, (void)text, (void)error;
    return ids;
}

TEST(marginals_sum_the_entries_of_examples)
{
    struct atlas_marginals found;
    struct atlas_plan all = plan;
    all.of_headvis = false;
    all.warm_up = 0;
    begin(&atlas, &all);
    add(&atlas, 0, 0.5f);
    add(&atlas, 1, 0.25f);
    struct atlas_masses_of of = {.atlas = &atlas, .head = 7, .ids_of = ids_of};
    ck_assert_int_eq(atlas_marginals(&found, &of, &arena, &err), 0);
    ck_assert_uint_eq(found.examples, 2);
    ck_assert(found.query_count == 3 && found.key_count == 2);
    ck_assert_uint_eq(found.keys[0].id, 5);
    ck_assert_double_eq_tol(found.keys[0].weight, 2 + 0.75 + 0.875 + 0.5 + 0.75, 1e-6);
    ck_assert_double_eq_tol(found.distances[2], 0.5 + 0.75, 1e-6); /* from 2 to 3 */
    of.without_first = true;
    ck_assert_int_eq(atlas_marginals(&found, &of, &arena, &err), 0);
    ck_assert(found.key_count == 1 && found.keys[0].id == 6);
}

static void save(struct buf *bytes, const struct atlas *from)
{
    struct stream out = {0};
    buf_clear(bytes);
    ck_assert_int_eq(stream_to_memory(&out, bytes, &err), 0);
    atlas_save(from, &out);
    ck_assert_int_eq(stream_commit(&out, &err), 0);
}

TEST(a_saved_atlas_continues_with_the_same_bits)
{
    struct buf one = {0}, other = {0};
    struct atlas again;
    begin(&atlas, &plan);
    begin(&again, &plan);
    for (size_t number = 0; number < 300; number++) {
        add(&atlas, number, top_of(number));
        if (number != 30 && number != 222)
            continue;
        atlas_release(&again);
        begin(&again, &plan);
        save(&one, &atlas);
        ck_assert_int_eq(atlas_load(&again, &corpus, one.bytes, one.bytes + one.size, &err), 0);
    }
    for (size_t number = 223; number < 300; number++)
        add(&again, number, top_of(number));
    save(&one, &atlas);
    save(&other, &again);
    ck_assert_uint_eq(one.size, other.size);
    ck_assert_mem_eq(one.bytes, other.bytes, one.size);
    for (int more = -1; more < 2; more += 2) { /* a part of the bytes, and one byte more */
        err_clear(&err);
        atlas_release(&again);
        begin(&again, &plan);
        ck_assert_int_eq(atlas_load(&again, &corpus, one.bytes, one.bytes + one.size + more, &err),
                         -1);
    }
    atlas_release(&again);
    buf_release(&one);
    buf_release(&other);
}

/* Change one number of head L1H3. Returns what the message must contain. */
static const char *spoil(struct atlas *to, int which)
{
    struct atlas_head *head = &to->heads[7];
    struct atlas_interval *interval = &head->intervals[2];
    struct atlas_example *example = &interval->items[1];
    struct pair_count *pair = head->pairs.items;
    switch (which) {
    case 0:
        to->texts = 301;
        return "texts: expected a number from 0 to 300, found 301";
    case 1:
        to->copies = UINT64_MAX;
        return "copies of tokens: expected a number from 0 to 900";
    case 2:
        head->bins[3] = 301;
        return "L1H3: texts of a bin: expected a number from 0 to 300, found 301";
    case 3:
        interval->texts = UINT64_MAX;
        return "L1H3: texts of an interval";
    case 4:
        example->text = 300;
        return "L1H3: text of an example: expected a number from 0 to 299, found 300";
    case 5:
        example->tokens = 1;
        return "tokens of an example: expected a number from 2 to 262144, found 1";
    case 6:
        example->entries[2] = 3u << ATLAS_KEY_SHIFT | 1;
        return "key of an example: expected a number from 0 to 2, found 3";
    case 7:
        interval->random->next = 625;
        return "random numbers drawn: expected a number from 0 to 624, found 625";
    case 8:
        head->pairs.hand = PAIRS_MAX;
        return "pair to look at: expected a number from 0 to 4095, found 4096";
    case 9:
        pair->query = 8;
        return "query of a pair: expected a number from 0 to 7, found 8";
    case 10:
        pair->key = UINT32_MAX;
        return "key of a pair: expected a number from 0 to 7, found 4294967295";
    case 11:
        pair->over = pair->count;
        return "count of a pair that is too high";
    default:
        to->warmed = 51;
        return "texts of the warm-up: expected a number from 0 to 50, found 51";
    }
}

TEST_LOOP(numbers_that_are_not_of_the_corpus_are_refused, 13)
{
    struct buf bytes = {0};
    struct atlas again;
    begin(&atlas, &plan);
    begin(&again, &plan);
    for (size_t number = 0; number < 300; number++)
        add(&atlas, number, top_of(number));
    const char *expected = spoil(&atlas, _i);
    save(&bytes, &atlas);
    ck_assert_int_eq(atlas_load(&again, &corpus, bytes.bytes, bytes.bytes + bytes.size, &err), -1);
    ck_assert_msg(strstr(err.text, expected), "%s", err.text);
    atlas_release(&again);
    buf_release(&bytes);
}

TEST(segments_have_the_examples_of_the_whole)
{
    static const size_t bounds[] = {0, 50, 170, 171, 300};
    struct atlas whole, segment;
    struct atlas_plan all = plan;
    all.of_headvis = false;
    begin(&whole, &all);
    begin(&atlas, &all);
    begin(&segment, &all);
    for (size_t i = 0; i < 4; i++) {
        for (size_t number = bounds[i]; number < bounds[i + 1]; number++) {
            add(&segment, number, top_of(number));
            add(&whole, number, top_of(number));
        }
        ck_assert_int_eq(atlas_merge(&atlas, &segment, &err), 0);
        atlas_clear(&segment);
    }
    const struct atlas_head *one = &whole.heads[7], *other = &atlas.heads[7];
    ck_assert_mem_eq(one->bins, other->bins, sizeof one->bins);
    ck_assert_uint_eq(one->pairs.total, other->pairs.total);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(one->intervals[i].texts, other->intervals[i].texts);
        ck_assert_uint_eq(one->intervals[i].count, i < 4 ? 3 : 10);
        for (size_t k = 0; k < one->intervals[i].count; k++)
            ck_assert_uint_eq(one->intervals[i].items[k].text, other->intervals[i].items[k].text);
    }
    atlas_release(&whole);
    atlas_release(&segment);
}
