#include "lens/viewer.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

enum { HEADS = 6, GROUPS = 3, TOKENS = 4, DIM = 2 };

static const struct config config = {
    .kind = MODEL_ATTENTION, .n_layer = 2, .n_head = HEADS, .n_kv_head = GROUPS};

/* Element i is i: a copy says where it came from. */
static float numbers[HEADS * TOKENS * TOKENS];

static struct arena arena;
static struct err err;
static struct capture capture;
static struct selection selection;

static void prepare(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    static const size_t layers[] = {0, 1};
    selection = (struct selection){.layers = {layers, COUNT(layers)}};
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i] = (float)i;
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(prepare, release)

static void choose(const char *sites, const char *heads, size_t texts)
{
    ck_assert_int_eq(selection_sites(&selection, sites, &config, &err), 0);
    ck_assert_int_eq(selection_layers(&selection, NULL, &config, &arena, &err), 0);
    ck_assert_int_eq(selection_heads(&selection, heads, &config, &arena, &err), 0);
    ck_assert_int_eq(capture_init(&capture, &selection, &config, texts, &arena, &err), 0);
}

static const struct kept *see(enum site site, int layer, size_t text, struct tensor values)
{
    struct announcement seen = {site, layer, text, values};
    ck_assert_int_eq(capture_sink(&capture, &seen, &err), 0);
    const struct kept_list *list = &capture.lists[text];
    return &list->items[list->count - 1];
}

/* Heads side by side in rows, as q, k and v lie in the pass: [heads, TOKENS, DIM]. */
static struct tensor side_by_side(size_t heads)
{
    return (struct tensor){numbers, 3, {heads, TOKENS, DIM}, {DIM, heads * DIM, 1}};
}

static void expect_heads(const struct kept *kept, const size_t *heads, size_t count)
{
    ck_assert_uint_eq(kept->rank, 3);
    ck_assert_uint_eq(kept->shape[0], count);
    ck_assert_mem_eq(kept->heads, heads, count * sizeof *heads);
}

/* Head h of side_by_side: its token t begins at t · heads · DIM + h · DIM. */
static void expect_values(const struct kept *kept, size_t heads)
{
    ck_assert_uint_eq(kept->shape[1], TOKENS);
    ck_assert_uint_eq(kept->shape[2], DIM);
    for (size_t i = 0; i < kept->shape[0] * TOKENS * DIM; i++) {
        size_t head = kept->heads[i / (TOKENS * DIM)];
        size_t token = i / DIM % TOKENS;
        ck_assert(kept->data[i] == (float)(token * heads * DIM + head * DIM + i % DIM));
    }
}

TEST(all_heads_are_kept_unless_some_were_chosen)
{
    choose("q,k", NULL, 1);
    const struct kept *q = see(SITE_Q, 1, 0, side_by_side(HEADS));
    expect_heads(q, (size_t[]){0, 1, 2, 3, 4, 5}, HEADS);
    expect_values(q, HEADS);
    ck_assert_int_eq(q->site, SITE_Q);
    ck_assert_int_eq(q->layer, 1);
    const struct kept *k = see(SITE_K, 1, 0, side_by_side(GROUPS));
    expect_heads(k, (size_t[]){0, 1, 2}, GROUPS);
    expect_values(k, GROUPS);
}

TEST(of_keys_and_values_the_groups_of_the_chosen_heads_are_kept)
{
    static const struct {
        const char *heads;
        size_t queries[HEADS], query_count;
        size_t groups[GROUPS], group_count;
    } cases[] = {
        {"0", {0}, 1, {0}, 1},         {"5", {5}, 1, {2}, 1},
        {"2,3", {2, 3}, 2, {1}, 1},    {"1,2,5", {1, 2, 5}, 3, {0, 1, 2}, 3},
        {"0,4", {0, 4}, 2, {0, 2}, 2}, {"0-5", {0, 1, 2, 3, 4, 5}, 6, {0, 1, 2}, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        choose("q,k,v,context", cases[i].heads, 1);
        const struct kept *q = see(SITE_Q, 0, 0, side_by_side(HEADS));
        expect_heads(q, cases[i].queries, cases[i].query_count);
        expect_values(q, HEADS);
        const struct kept *v = see(SITE_V, 0, 0, side_by_side(GROUPS));
        expect_heads(v, cases[i].groups, cases[i].group_count);
        expect_values(v, GROUPS);
        const struct kept *context = see(SITE_CONTEXT, 0, 0, side_by_side(HEADS));
        expect_heads(context, cases[i].queries, cases[i].query_count);
    }
}

TEST(of_some_sites_every_head_can_be_kept_whatever_was_chosen)
{
    selection.whole = site_bit(SITE_CONTEXT);
    choose("q,v,context", "1", 1);
    expect_heads(see(SITE_Q, 0, 0, side_by_side(HEADS)), (size_t[]){1}, 1);
    expect_heads(see(SITE_V, 0, 0, side_by_side(GROUPS)), (size_t[]){0}, 1);
    const struct kept *context = see(SITE_CONTEXT, 0, 0, side_by_side(HEADS));
    expect_heads(context, (size_t[]){0, 1, 2, 3, 4, 5}, HEADS);
    expect_values(context, HEADS);
}

TEST(of_squares_the_chosen_heads_are_written_where_they_are_kept)
{
    float *places[HEADS] = {0};
    struct attention_map_room room = {SITE_WEIGHTS, 1, 0, TOKENS, TOKENS + 1, places};
    choose("weights", "1,4", 1);
    ck_assert_int_eq(capture_lend(&capture, &room, &err), 0);
    const struct kept *weights = &capture.lists[0].items[0];
    ck_assert_uint_eq(capture.lists[0].count, 1);
    ck_assert_int_eq(weights->site, SITE_WEIGHTS);
    ck_assert_int_eq(weights->layer, 1);
    expect_heads(weights, (size_t[]){1, 4}, 2);
    ck_assert_uint_eq(weights->shape[1], TOKENS);
    ck_assert_uint_eq(weights->shape[2], TOKENS + 1);
    for (size_t head = 0; head < HEADS; head++)
        ck_assert_ptr_eq(places[head], head == 1   ? weights->data
                                       : head == 4 ? weights->data + TOKENS * (TOKENS + 1)
                                                   : NULL);
}

TEST(what_has_no_heads_is_kept_whole)
{
    struct tensor transposed = {numbers, 2, {2, 3}, {1, 2}};
    choose("embedding", "1", 1);
    const struct kept *kept = see(SITE_EMBEDDING, -1, 0, transposed);
    ck_assert_uint_eq(kept->rank, 2);
    ck_assert_uint_eq(kept->shape[0], 2);
    ck_assert_uint_eq(kept->shape[1], 3);
    ck_assert_ptr_null(kept->heads);
    ck_assert_int_eq(kept->layer, -1);
    ck_assert_mem_eq(kept->data, ((float[]){0, 2, 4, 1, 3, 5}), 6 * sizeof(float));
}

TEST(a_copy_stays_when_the_original_changes)
{
    choose("embedding", NULL, 1);
    const struct kept *kept =
        see(SITE_EMBEDDING, -1, 0, (struct tensor){numbers, 2, {1, 3}, {3, 1}});
    memset(numbers, 0, sizeof numbers);
    ck_assert_mem_eq(kept->data, ((float[]){0, 1, 2}), 3 * sizeof(float));
}

TEST(each_sequence_has_a_list_of_its_own)
{
    struct tensor one = {numbers, 2, {1, 1}, {1, 1}};
    choose("embedding,attn_out", NULL, 3);
    ck_assert_uint_eq(capture.room, 1 + 2);
    for (size_t s = 0; s < 3; s++)
        see(SITE_EMBEDDING, -1, s, one);
    for (int layer = 0; layer < 2; layer++)
        for (size_t s = 0; s < 3; s++)
            see(SITE_ATTN_OUT, layer, s, one);
    for (size_t s = 0; s < 3; s++) {
        const struct kept_list *list = &capture.lists[s];
        ck_assert_uint_eq(list->count, capture.room);
        ck_assert_int_eq(list->items[0].site, SITE_EMBEDDING);
        ck_assert_int_eq(list->items[1].layer, 0);
        ck_assert_int_eq(list->items[2].layer, 1);
    }
}

TEST(every_allocation_that_fails_is_an_error)
{
    int failed = -1;
    static float large[HEADS * 100 * 100]; /* a block of its own */
    struct tensor values = {large, 3, {HEADS, 100, 100}, {10000, 100, 1}};
    struct announcement seen = {SITE_CONTEXT, 0, 0, values};
    float *places[HEADS] = {0};
    struct attention_map_room room = {SITE_WEIGHTS, 0, 0, 100, 100, places};
    selection.sites = site_bit(SITE_WEIGHTS) | site_bit(SITE_CONTEXT);
    selection.head_count = HEADS;
    for (size_t nth = 1; failed; nth++) {
        struct arena own = {0};
        err = (struct err){0};
        heap_fail_at(nth, 0);
        failed = capture_init(&capture, &selection, &config, 5000, &own, &err) ||
                 capture_lend(&capture, &room, &err) || capture_sink(&capture, &seen, &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || strstr(err.text, "out of memory"));
        ck_assert(failed || nth > 4);
        arena_release(&own);
    }
}
