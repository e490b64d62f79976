#include "pass/pass.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "pass/tap.h"

/* Sites with axes head, query, key; all except softmax, which needs another mechanism. */
enum { HEADS = 3, LAYERS = 2, SITES = ATTENTION_MAPS - 2, LENT_MAX = 64 };

/* clang-format off */
static const char config[] =
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 12, "n_layer": 2, "n_head": 3,
          "causal": true, "out_proj": true});
static const char cross[] =
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 19, "n_embd": 12,
          "n_layer": 2, "n_head": 3});
/* clang-format on */

static struct tiny_model model;
static struct rig rig;
static struct recording shown;
static struct text texts[2];

/* Lends memory for the maps of a set of heads. */
struct loan {
    struct attention_map_loan asked[LENT_MAX];
    float *given[LENT_MAX][HEADS];
    size_t count;
    size_t fail_at; /* fail at the nth request; 0: never */
    unsigned heads; /* bits */
    size_t squares_shown;
    struct arena arena;
};

static int lend(void *context, struct attention_map_loan *room, struct err *err)
{
    struct loan *loan = context;
    ck_assert_uint_lt(loan->count, LENT_MAX);
    loan->asked[loan->count] = *room;
    for (size_t head = 0; head < HEADS; head++) {
        size_t cells = room->queries * room->keys;
        ck_assert_ptr_null(room->heads[head]);
        if (!(loan->heads >> head & 1))
            continue;
        float *place = arena_alloc(&loan->arena, cells, sizeof *place, err);
        for (size_t i = 0; i < cells; i++)
            place[i] = NAN; /* every cell must be written */
        loan->given[loan->count][head] = room->heads[head] = place;
    }
    loan->count++;
    return loan->count == loan->fail_at ? err_output(err, "no room") : 0;
}

static int count_shown(void *context, const struct announcement *seen, struct err *err)
{
    struct loan *loan = context;
    (void)err;
    loan->squares_shown += site_row(seen->site)->axes == AXES_HEAD_QUERY_KEY;
    return 0;
}

static int ignore(void *context, const struct announcement *seen, struct err *err)
{
    (void)context, (void)seen, (void)err;
    return 0;
}

static int run_tap(tap_lender lender, void *context, struct err *err)
{
    struct batch batch;
    struct arena arena = {0};
    tap_sink sink = lender == lend ? count_shown : ignore;
    struct tap tap = {.watch = &rig.watch, .sink = sink, .lend = lender, .context = context};
    struct run what = {&rig.machine, &model.config, &rig.weights, &batch, .edits = NULL};
    int failed = batch_init(&batch, what.config, texts, COUNT(texts), &arena, err) ||
                 forward(&what, &tap, &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int run(struct loan *loan, struct err *err)
{
    return run_tap(lend, loan, err);
}

static void begin(const char *text)
{
    tiny_model_make(&model, text);
    rig_open(&rig, &model, 2);
    for (size_t i = 0; i < COUNT(texts); i++) {
        texts[i] = (struct text){.ids = rig_ids(&model, 90 * i, 5 + 67 * i), .count = 5 + 67 * i};
        if (model.config.cross) {
            texts[i].source_ids = rig_ids(&model, 7, 21);
            texts[i].source_count = 21;
        }
    }
}

static void end(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

static void check_loan(const struct loan *loan)
{
    for (size_t i = 0; i < loan->count; i++) {
        const struct attention_map_loan *asked = &loan->asked[i];
        const struct record *record =
            recording_find(&shown, asked->site, asked->layer, asked->text);
        size_t cells = asked->queries * asked->keys;
        ck_assert_uint_eq(record->count, HEADS * cells);
        for (size_t head = 0; head < HEADS; head++)
            if (loan->given[i][head])
                ck_assert_mem_eq(loan->given[i][head], record->values + head * cells,
                                 cells * sizeof(float));
    }
}

TEST(lent_memory_has_the_maps_that_the_sink_would_get)
{
    static const char *const configs[] = {config, cross};
    for (size_t c = 0; c < COUNT(configs); c++) {
        begin(configs[c]);
        rig_watch_all(&rig);
        shown = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &shown, texts, COUNT(texts), NULL), 0);
        for (unsigned heads = 0; heads < 1 << HEADS; heads++) {
            struct loan loan = {.heads = heads};
            ck_assert_int_eq(run(&loan, NULL), 0);
            ck_assert_uint_eq(loan.count, SITES * LAYERS * COUNT(texts));
            ck_assert_uint_eq(loan.squares_shown, 0);
            check_loan(&loan);
            arena_release(&loan.arena);
        }
        recording_release(&shown);
        end();
    }
}

/* Takes rows, which must come in order and be those of the recording. */
struct taken {
    size_t next[SITE_IDS][LAYERS][2][HEADS]; /* query of each map */
    atomic_size_t rows;
};

static void take(void *context, const struct attention_map_row *row)
{
    struct taken *taken = context;
    const struct record *record = recording_find(&shown, row->site, row->layer, row->text);
    size_t queries = record->count / HEADS / row->keys;
    ck_assert_uint_eq(row->query,
                      taken->next[site_id(row->site)][row->layer][row->text][row->head]++);
    ck_assert_mem_eq(row->values, record->values + (row->head * queries + row->query) * row->keys,
                     row->keys * sizeof(float));
    taken->rows++;
}

static int lend_taker(void *context, struct attention_map_loan *room, struct err *err)
{
    (void)context, (void)err;
    room->take = take;
    return 0;
}

TEST(rows_that_are_taken_are_those_of_the_maps)
{
    static const struct {
        const char *config, *attention;
        bool mask_after;
    } rows[] = {
        {config, "dense", false},
        {cross, "dense", false},
        {config, "dense", true},
        {config, "linear", false},
        {config, "blocked:7", false},
        {cross, "lowrank:4", false},
        {config, "window:9+random:3", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct taken taken = {.rows = 0};
        struct err err = {0};
        size_t expected = 0;
        begin(rows[i].config);
        ck_assert(!mechanism_set_attention(&model.config.mechanism, rows[i].attention, &err));
        model.config.mechanism.renormalise = rows[i].mask_after;
        ck_assert(!config_describe(&model.config, NULL));
        rig_watch_all(&rig);
        shown = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &shown, texts, COUNT(texts), NULL), 0);
        ck_assert_msg(!run_tap(lend_taker, &taken, &err), "%s", err.text);
        for (size_t t = 0; t < COUNT(texts); t++)
            expected += texts[t].count * HEADS * LAYERS * (SITES + rows[i].mask_after);
        ck_assert_uint_eq(taken.rows, expected);
        recording_release(&shown);
        end();
    }
}

TEST(memory_is_requested_only_for_watched_sites)
{
    begin(config);
    struct loan loan = {.heads = 7};
    watch_add(&rig.watch, SITE_MASKED, 1);
    ck_assert_int_eq(run(&loan, NULL), 0);
    ck_assert_uint_eq(loan.count, COUNT(texts));
    for (size_t i = 0; i < loan.count; i++) {
        ck_assert_int_eq(loan.asked[i].site, SITE_MASKED);
        ck_assert_int_eq(loan.asked[i].layer, 1);
        ck_assert_uint_eq(loan.asked[i].text, i);
        ck_assert_uint_eq(loan.asked[i].queries, texts[i].count);
        ck_assert_uint_eq(loan.asked[i].keys, texts[i].count);
    }
    arena_release(&loan.arena);
    end();
}

/* An overflow in a head that is not requested is not reported. */
TEST(heads_without_lent_memory_are_not_computed)
{
    struct err err = {0};
    begin(config);
    for (size_t i = 0; i < 12; i++) { /* columns of the second head */
        for (size_t column = 4; column < 8; column++) {
            tiny_model_tensor(&model, "h.0.attn.q_proj.weight")->values[i * 12 + column] = 1e30f;
            tiny_model_tensor(&model, "h.0.attn.k_proj.weight")->values[i * 12 + column] = 1e30f;
        }
    }
    tiny_model_write(&model, 0);
    rig_close(&rig);
    rig_open(&rig, &model, 2);
    watch_add(&rig.watch, SITE_WEIGHTS, 0);
    struct loan others = {.heads = 5};
    ck_assert_msg(!run(&others, &err), "%s", err.text);
    arena_release(&others.arena);
    struct loan all = {.heads = 7};
    ck_assert_int_eq(run(&all, &err), -1);
    ck_assert_str_eq(err.text, "'h.0.scores' of L0H1: expected finite numbers, found infinity or "
                               "nan (text 0)");
    arena_release(&all.arena);
    end();
}

TEST(an_error_of_the_lender_ends_the_pass_and_is_returned)
{
    begin(config);
    rig_watch_all(&rig);
    for (size_t nth = 1; nth <= SITES * LAYERS * COUNT(texts); nth++) {
        struct err err = {0};
        struct loan loan = {.heads = 7, .fail_at = nth};
        ck_assert_int_eq(run(&loan, &err), -1);
        ck_assert_str_eq(err.text, "no room");
        ck_assert_uint_eq(loan.count, nth);
        arena_release(&loan.arena);
    }
    end();
}
