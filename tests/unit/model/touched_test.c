#include "../rigs/paged_model.h"

#include <stdio.h>

#include "../unit.h"
#include "../rigs/patience.h"
#include "base/buf.h"
#include "lens/viewer.h"

/* A row of queries, keys or values fills a page, so that pages tell columns apart; in the wide
 * model that of each head does. All six matrices of a layer have C columns and as many rows. */
static const char gpt2[] = "{\"model_type\": \"gpt2\", \"n_layer\": 4, \"n_head\": 1, "
                           "\"n_embd\": 1024, \"n_inner\": 1024, \"n_positions\": 200, "
                           "\"vocab_size\": 40}";
static const char wide[] = "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_head\": 2, "
                           "\"n_embd\": 2048, \"n_inner\": 2048, \"n_positions\": 200, "
                           "\"vocab_size\": 40, \"tie_word_embeddings\": false}";
static const char grouped[] = "{\"model_type\": \"attention\", \"n_layer\": 2, \"n_head\": 4, "
                              "\"n_kv_head\": 2, \"n_embd\": 1024, \"d_k\": 1024, \"d_v\": 2048, "
                              "\"vocab_size\": 40, \"causal\": true, \"bias\": true, "
                              "\"out_proj\": true}";

enum { WORDS = 30, TOKENS_MAX = 200 };

/* One token and a few stream through weights in place, some are enough for panels, many for copies
 * of them. */
static const size_t lengths[] = {1, 3, 9, TOKENS_MAX};

/* What is asked for, and which weights must be read for it beside the text's own rows of the
 * embeddings: how many norms, matrices with their bias, and other numbers. */
struct touch {
    const char *show, *layers, *heads;
    const char *needs;
    size_t norms, matrices, numbers;
};

static struct paged_model model;
static struct viewer viewer;

static void open_model(const char *config, enum dtype dtype, size_t threads)
{
    struct err err = {0};
    paged_model_make(&model, config, dtype);
    viewer = (struct viewer){0};
    ck_assert_msg(!model_open_folder(&viewer.model, &model.folder, &err), "%s", err.text);
    ck_assert_int_eq(machine_open(&viewer.machine, threads, NULL), 0);
}

static void close_model(void)
{
    viewer_release(&viewer);
    paged_model_release(&model);
}

/* The text goes round the same words again and again, and leaves out others. */
static uint32_t id_at(size_t token)
{
    return (uint32_t)(token % WORDS + 1);
}

/* The text's rows of the embeddings; returns how many numbers they have. */
static size_t need_embeddings(size_t tokens)
{
    uint32_t words[WORDS];
    uint32_t positions[TOKENS_MAX];
    size_t rows = tokens < WORDS ? tokens : WORDS;
    for (size_t i = 0; i < tokens; i++) {
        words[i % WORDS] = id_at(i);
        positions[i] = (uint32_t)i;
    }
    paged_model_need_rows(&model, "wte.weight", words, rows);
    if (model.config.n_positions) {
        paged_model_need_rows(&model, "wpe.weight", positions, tokens);
        rows += tokens;
    }
    return rows * model.config.n_embd;
}

static void look(const struct touch *touch, size_t tokens)
{
    struct err err = {0};
    struct arena arena = {0};
    struct selection selection = {0};
    struct text_pair pair;
    struct report report;
    struct buf ids = {0};
    for (size_t i = 0; i < tokens; i++)
        buf_format(&ids, "%s%u", i ? "," : "", id_at(i));
    struct input input = {.ids = ids.bytes};
    struct look look = {.selection = &selection, .pairs = &pair, .count = 1, .reports = &report};
    int failed = selection_sites(&selection, touch->show, &model.config, &err) ||
                 selection_layers(&selection, touch->layers, &model.config, &arena, &err) ||
                 selection_heads(&selection, touch->heads, &model.config, &arena, &err) ||
                 viewer_read(&viewer, &pair, &input, NULL, &arena, &err) ||
                 viewer_look(&viewer, &look, &arena, &err);
    ck_assert_msg(!failed, "%s: %s", touch->show, err.text);
    ck_assert_uint_gt(report.tensor_count, 0);
    arena_release(&arena);
    buf_release(&ids);
}

/* Every page of the file that was read had to be, and was one of as many as there must be. */
static void check_touch(const struct touch *touch, size_t tokens)
{
    size_t c = model.config.n_embd;
    size_t numbers = touch->norms * 2 * c + touch->matrices * c * (c + 1) + touch->numbers;
    paged_model_forget(&model);
    paged_model_need(&model, touch->needs);
    numbers += need_embeddings(tokens);
    look(touch, tokens);
    ck_assert_uint_eq(paged_model_check(&model), numbers * model.element_bytes);
}

static void check_touches(const struct touch *touches, size_t count)
{
    for (size_t i = 0; i < count; i += one_of(5))
        for (size_t k = 0; k < COUNT(lengths); k += one_of(4))
            check_touch(&touches[i], lengths[k]);
}

SKIP_UNLESS(paged_model_works, "the system does not tell which 4 KiB were read")

TEST(opening_a_model_reads_the_header)
{
    open_model(gpt2, DTYPE_F32, 1);
    ck_assert_uint_eq(paged_model_check(&model), 0);
    close_model();
}

static const struct touch gpt2_touches[] = {
    {"embedding", NULL, NULL, "", 0, 0, 0},
    {"resid_pre", "0", NULL, "", 0, 0, 0},
    {"ln_1", "0", NULL, "h.0.ln_1.", 1, 0, 0},
    {"q", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.[0:1024]", 1, 1, 0},
    {"k", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.[1024:2048]", 1, 1, 0},
    {"v", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.[2048:3072]", 1, 1, 0},
    {"scores,masked", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.[0:2048]", 1, 2, 0},
    {"context", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.", 1, 3, 0},
    {"attn_out", "0", NULL, "h.0.ln_1. h.0.attn.", 1, 4, 0},
    {"weights,resid_mid", "0", NULL, "h.0.ln_1. h.0.attn.", 1, 4, 0},
    {"ln_2", "0", NULL, "h.0.ln_ h.0.attn.", 2, 4, 0},
    {"mlp_act", "0", NULL, "h.0.ln_ h.0.attn. h.0.mlp.c_fc.", 2, 5, 0},
    {"mlp_out", "0", NULL, "h.0.", 2, 6, 0},
    {"resid_post", "0", NULL, "h.0.", 2, 6, 0},
    {"resid_pre", "1", NULL, "h.0.", 2, 6, 0},
    {"q", "1", NULL, "h.0. h.1.ln_1. h.1.attn.c_attn.[0:1024]", 3, 7, 0},
    {"weights", "1", NULL, "h.0. h.1.ln_1. h.1.attn.c_attn.[0:2048]", 3, 8, 0},
    {"weights", "0,2", NULL, "h.0. h.1. h.2.ln_1. h.2.attn.c_attn.[0:2048]", 5, 14, 0},
};

TEST(of_a_gpt2_nothing_is_read_behind_the_last_site)
{
    open_model(gpt2, DTYPE_F32, 1);
    check_touches(gpt2_touches, COUNT(gpt2_touches));
    close_model();
}

/* Logits take every word; the text has read three of them. */
static const struct touch far_touches[] = {
    {"ln_f", NULL, NULL, "h. ln_f.", 9, 24, 0},
    {"logits", NULL, NULL, "h. ln_f. wte.", 9, 24, (40 - 3) * 1024},
};

TEST(the_logits_take_all_words_and_no_more_positions)
{
    open_model(gpt2, DTYPE_F32, 1);
    for (size_t i = 0; i < COUNT(far_touches); i += one_of(2))
        check_touch(&far_touches[i], 3);
    close_model();
}

static const struct touch wide_touches[] = {
    {"weights", NULL, NULL, "h.0.ln_1. h.0.attn.c_attn.[0:4096]", 1, 2, 0},
    {"ln_f", NULL, NULL, "h. ln_f.", 3, 6, 0},
    {"logits", NULL, NULL, "h. ln_f. lm_head.", 3, 6, 40 * 2048},
};

TEST(a_head_of_its_own_is_read_for_logits_alone)
{
    open_model(wide, DTYPE_F32, 1);
    for (size_t i = 0; i < COUNT(wide_touches); i++)
        check_touch(&wide_touches[i], 3);
    close_model();
}

/* What is converted, or packed, is read by whole matrices; those after the last site are not. */
static const struct touch whole_touches[] = {
    {"resid_pre", "0", NULL, "", 0, 0, 0},
    {"ln_1", "0", NULL, "h.0.ln_1.", 1, 0, 0},
    {"context", "0", NULL, "h.0.ln_1. h.0.attn.c_attn.", 1, 3, 0},
    {"attn_out", "0", NULL, "h.0.ln_1. h.0.attn.", 1, 4, 0},
    {"ln_2", "0", NULL, "h.0.ln_ h.0.attn.", 2, 4, 0},
    {"mlp_act", "0", NULL, "h.0.ln_ h.0.attn. h.0.mlp.c_fc.", 2, 5, 0},
    {"resid_post", "0", NULL, "h.0.", 2, 6, 0},
};

TEST(what_is_converted_is_read_as_far_as_the_last_site)
{
    for (size_t i = 0; i < COUNT(whole_touches); i += one_of(4)) {
        open_model(wide, i % 2 ? DTYPE_F16 : DTYPE_BF16, 1);
        check_touch(&whole_touches[i], 3);
        close_model();
    }
}

TEST(what_is_packed_is_read_as_far_as_the_last_site)
{
    for (size_t i = 0; i < COUNT(whole_touches); i += one_of(4)) {
        open_model(gpt2, DTYPE_F32, 1);
        viewer.model.weights.packing = true;
        check_touch(&whole_touches[i], 9);
        close_model();
    }
}

/* Half a matrix is one head's queries, keys or values. */
static const struct touch head_touches[] = {
    {"q", NULL, "0", "h.0.ln_1. h.0.attn.c_attn.[0:1024]", 1, 0, 1024 * 2049},
    {"q", NULL, "1", "h.0.ln_1. h.0.attn.c_attn.[1024:2048]", 1, 0, 1024 * 2049},
    {"v", NULL, "1", "h.0.ln_1. h.0.attn.c_attn.[5120:6144]", 1, 0, 1024 * 2049},
    {"weights", NULL, "0", "h.0.ln_1. h.0.attn.c_attn.[0:1024] h.0.attn.c_attn.[2048:3072]", 1, 1,
     0},
    {"weights,k", NULL, "1", "h.0.ln_1. h.0.attn.c_attn.[1024:2048] h.0.attn.c_attn.[3072:4096]", 1,
     1, 0},
    {"context", NULL, "1",
     "h.0.ln_1. h.0.attn.c_attn.[1024:2048] h.0.attn.c_attn.[3072:4096] "
     "h.0.attn.c_attn.[5120:6144]",
     1, 1, 1024 * 2049},
    {"weights", NULL, "0,1", "h.0.ln_1. h.0.attn.c_attn.[0:4096]", 1, 2, 0},
    {"attn_out,weights", NULL, "0", "h.0.ln_1. h.0.attn.", 1, 4, 0},
};

TEST(of_the_last_layer_only_the_chosen_heads_are_read)
{
    open_model(wide, DTYPE_F32, 1);
    check_touches(head_touches, COUNT(head_touches));
    close_model();
}

TEST(threads_read_nothing_more)
{
    static const struct touch *const touch = &gpt2_touches[COUNT(gpt2_touches) - 1];
    open_model(gpt2, DTYPE_F32, 2);
    for (size_t i = 0; i < COUNT(lengths); i += one_of(4))
        check_touch(touch, lengths[i]);
    close_model();
}

/* The numbers of grouped's projections. */
enum {
    Q = 4 * 1024 * (1024 + 1),
    K = 2 * 1024 * (1024 + 1),
    V = 2 * 2048 * (1024 + 1),
    OUT = 1024 * (4 * 2048 + 1),
};

static const struct touch grouped_touches[] = {
    {"embedding", NULL, NULL, "", 0, 0, 0},
    {"q", "0", NULL, "h.0.attn.q_proj.", 0, 0, Q},
    {"k", "0", NULL, "h.0.attn.k_proj.", 0, 0, K},
    {"v", "0", NULL, "h.0.attn.v_proj.", 0, 0, V},
    {"weights", "0", NULL, "h.0.attn.q_proj. h.0.attn.k_proj.", 0, 0, Q + K},
    {"k,context", "0", NULL, "h.0.attn.q_ h.0.attn.k_ h.0.attn.v_", 0, 0, Q + K + V},
    {"weights", "0", "2", "h.0.attn.q_proj.[2048:3072] h.0.attn.k_proj.[1024:2048]", 0, 0, Q / 2},
    {"context", "0", "0-1",
     "h.0.attn.q_proj.[0:2048] h.0.attn.k_proj.[0:1024] h.0.attn.v_proj.[0:2048]", 0, 0,
     (Q + K + V) / 2},
    {"attn_out", "0", NULL, "h.0.", 0, 0, Q + K + V + OUT},
    {"v", "1", NULL, "h.0. h.1.attn.v_proj.", 0, 0, Q + K + V + OUT + V},
};

TEST(of_bare_attention_nothing_is_read_behind_the_last_site)
{
    open_model(grouped, DTYPE_F32, 1);
    check_touches(grouped_touches, COUNT(grouped_touches));
    close_model();
}
