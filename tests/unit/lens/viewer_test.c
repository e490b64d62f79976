#include "lens/viewer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/patience.h"
#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "base/heap.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;

static void enter(void)
{
    scratch_enter();
    arena = (struct arena){0};
    err = (struct err){0};
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
    scratch_leave();
}

FIXTURE(enter, leave)

static void open_model(const char *name)
{
    ck_assert_msg(!viewer_open(&viewer, name, 1, &err), "%s", err.text);
}

static struct input text(const char *bytes)
{
    return (struct input){.text = bytes, .size = strlen(bytes)};
}

static void read_text(struct text_pair *pair, const char *bytes)
{
    struct input input = text(bytes);
    ck_assert_msg(!viewer_read(&viewer, pair, &input, NULL, &arena, &err), "%s", err.text);
}

static void choose(struct selection *selection, const char *sites, const char *heads)
{
    const struct config *config = &viewer.model.config;
    *selection = (struct selection){0};
    int failed = selection_sites(selection, sites, config, &err) ||
                 selection_layers(selection, NULL, config, &arena, &err) ||
                 selection_heads(selection, heads, config, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static int look(const struct selection *selection, const struct text_pair *pairs, size_t count,
                struct report *reports)
{
    return viewer_look(&viewer, &(struct look){selection, pairs, count, 0, reports}, &arena, &err);
}

/* Write a model without a tokenizer to the folder "mine". */
static void write_model(const char *config)
{
    struct tiny_model model;
    tiny_model_make(&model, config);
    ck_assert_int_eq(mkdir("mine", 0777), 0);
    scratch_write("mine/config.json", config);
    FILE *file = fopen("mine/model.safetensors", "wb");
    ck_assert_uint_eq(fwrite(model.bytes.bytes, 1, model.bytes.size, file), model.bytes.size);
    ck_assert_int_eq(fclose(file), 0);
    tiny_model_release(&model);
}

/* clang-format off */
static const char cross_config[] =
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 9, "n_embd": 4,
          "n_head": 2});
/* clang-format on */

TEST(a_look_gives_a_report_of_what_was_chosen)
{
    struct selection selection;
    struct text_pair pair;
    struct report report;
    open_model("tiny");
    read_text(&pair, "Life is short, eat dessert first");
    choose(&selection, "weights,ln_f", "1,3");
    ck_assert_msg(!look(&selection, &pair, 1, &report), "%s", err.text);
    ck_assert_str_eq(report.model, "tiny");
    ck_assert_uint_eq(report.sentence.count, pair.sentence.count);
    ck_assert_uint_eq(report.tensor_count, 3);
    ck_assert_uint_eq(report.head_count, 2);
    ck_assert_mem_eq(report.heads, ((size_t[]){1, 3}), 2 * sizeof(size_t));
    ck_assert(report.causal);
    ck_assert_ptr_null(report.words);
    ck_assert_str_eq(report.numbers[31].text, "31");
    const struct kept *weights = &report.tensors[1];
    ck_assert_int_eq(weights->site, SITE_WEIGHTS);
    ck_assert_int_eq(weights->layer, 1);
    size_t tokens = pair.sentence.count;
    for (size_t row = 0; row < 2 * tokens; row++) {
        double sum = 0;
        for (size_t key = 0; key < tokens; key++)
            sum += weights->data[row * tokens + key];
        ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
    ck_assert_int_eq(report.tensors[2].site, SITE_LN_F);
    ck_assert_uint_eq(report.tensors[2].shape[1], 96);
}

TEST(logits_name_the_words_of_the_vocabulary)
{
    struct selection selection;
    struct text_pair pair;
    struct report report;
    open_model("tiny");
    read_text(&pair, "Life is");
    choose(&selection, "logits", NULL);
    ck_assert_int_eq(look(&selection, &pair, 1, &report), 0);
    ck_assert_uint_eq(report.tensors[0].shape[1], viewer.model.config.vocab_size);
    ck_assert_str_eq(report.words[pair.sentence.tokens[0].id].text, "Life");
    ck_assert_ptr_nonnull(report.words[viewer.model.config.vocab_size - 1].text);
}

TEST(tokens_alone_are_a_report_without_tensors)
{
    struct selection selection;
    struct text_pair pair;
    struct report report;
    open_model("life");
    read_text(&pair, "Life is short");
    choose(&selection, "tokens", NULL);
    ck_assert_int_eq(look(&selection, &pair, 1, &report), 0);
    ck_assert_uint_eq(report.tensor_count, 0);
    ck_assert_uint_eq(report.sentence.count, 3);
    ck_assert(!report.causal);
}

TEST(subjects_looked_at_together_give_what_each_gives_alone)
{
    static const char *const texts[] = {"Life is short", "Life", "eat dessert first , short life"};
    struct selection selection;
    struct text_pair pairs[COUNT(texts)];
    struct report together[COUNT(texts)];
    open_model("tiny");
    choose(&selection, "all", NULL);
    for (size_t i = 0; i < COUNT(texts); i++)
        read_text(&pairs[i], texts[i]);
    ck_assert_int_eq(look(&selection, pairs, COUNT(texts), together), 0);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct report alone;
        ck_assert_int_eq(look(&selection, &pairs[i], 1, &alone), 0);
        ck_assert_uint_eq(alone.tensor_count, together[i].tensor_count);
        for (size_t t = 0; t < alone.tensor_count; t++) {
            const struct kept *a = &alone.tensors[t];
            const struct kept *b = &together[i].tensors[t];
            size_t count = a->shape[0] * a->shape[1] * (a->rank == 3 ? a->shape[2] : 1);
            ck_assert_mem_eq(a->shape, b->shape, a->rank * sizeof *a->shape);
            ck_assert_mem_eq(a->data, b->data, count * sizeof *a->data);
        }
    }
}

/* Packing is decided by the tokens to come and changes nothing but the time. */
TEST(what_is_expected_changes_no_bit)
{
    struct selection selection;
    struct text_pair pair;
    struct report reports[2];
    open_model("tiny");
    read_text(&pair, "Life is short, eat dessert first");
    choose(&selection, "logits", NULL);
    ck_assert_msg(!look(&selection, &pair, 1, &reports[0]), "%s", err.text);
    viewer_expect(&viewer, 100);
    ck_assert(!viewer.model.weights.packing);
    viewer_expect(&viewer, 100000);
    ck_assert(viewer.model.weights.packing);
    viewer_expect_steps(&viewer, 10);
    ck_assert(!viewer.model.weights.packing_words);
    viewer_expect_steps(&viewer, 1000);
    ck_assert(viewer.model.weights.packing_words);
    ck_assert_msg(!look(&selection, &pair, 1, &reports[1]), "%s", err.text);
    ck_assert_mem_eq(reports[0].tensors[0].data, reports[1].tensors[0].data,
                     pair.sentence.count * 512 * sizeof(float));
}

TEST(a_source_is_looked_at)
{
    struct selection selection;
    struct text_pair pair;
    struct report report;
    struct input sentence = {.ids = "1,2"};
    struct input source = {.ids = "3,4,5"};
    write_model(cross_config);
    open_model("mine");
    ck_assert_ptr_null(viewer.tokenizer);
    ck_assert_int_eq(viewer_read(&viewer, &pair, &sentence, &source, &arena, &err), 0);
    choose(&selection, "weights,k", NULL);
    ck_assert_int_eq(look(&selection, &pair, 1, &report), 0);
    ck_assert_uint_eq(report.source.count, 3);
    ck_assert_str_eq(report.source.labels[2].exact, "2:5");
    ck_assert_mem_eq(report.tensors[0].shape, ((size_t[]){2, 3, 2}), 3 * sizeof(size_t));
    ck_assert_mem_eq(report.tensors[1].shape, ((size_t[]){2, 2, 3}), 3 * sizeof(size_t));
}

TEST(a_source_is_needed_where_it_belongs_and_nowhere_else)
{
    struct selection selection;
    struct text_pair pair;
    struct report report;
    struct input ids = {.ids = "1,2"};
    write_model(cross_config);
    open_model("mine");
    ck_assert_int_eq(viewer_read(&viewer, &pair, &ids, NULL, &arena, &err), 0);
    choose(&selection, "weights", NULL);
    ck_assert_int_eq(look(&selection, &pair, 1, &report), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_msg(strncmp(err.text, "expected a source", 17) == 0, "%s", err.text);
    viewer_release(&viewer);
    err_clear(&err);
    open_model("life");
    ck_assert_int_eq(viewer_read(&viewer, &pair, &ids, &ids, &arena, &err), 0);
    ck_assert_int_eq(look(&selection, &pair, 1, &report), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_msg(strncmp(err.text, "expected no source", 18) == 0, "%s", err.text);
}

TEST(a_text_that_is_too_long_is_refused_before_anything_runs)
{
    struct text_pair pair;
    char ids[256] = "1";
    for (size_t i = 1; i < 65; i++)
        strcat(ids, ",1");
    open_model("tiny");
    struct input long_one = {.ids = ids};
    struct input short_one = {.ids = "1"};
    ck_assert_int_eq(viewer_read(&viewer, &pair, &long_one, NULL, &arena, &err), -1);
    ck_assert_str_eq(err.text,
                     "the text is too long: expected at most 64 tokens (n_positions), found 65");
    err_clear(&err);
    ck_assert_int_eq(viewer_read(&viewer, &pair, &short_one, &long_one, &arena, &err), -1);
    ck_assert_str_eq(
        err.text,
        "source: the text is too long: expected at most 64 tokens (n_positions), found 65");
    ids[2 * 64 - 1] = '\0';
    err_clear(&err);
    ck_assert_int_eq(viewer_read(&viewer, &pair, &long_one, NULL, &arena, &err), 0);
}

TEST(a_model_that_does_not_open_holds_nothing)
{
    ck_assert_int_eq(viewer_open(&viewer, "nowhere", 1, &err), -1);
    ck_assert_ptr_null(viewer.machine.pool);
    write_model(cross_config);
    scratch_write("mine/vocab.json", "[");
    err_clear(&err);
    ck_assert_int_eq(viewer_open(&viewer, "mine", 1, &err), -1);
    ck_assert_msg(strncmp(err.text, "'mine/vocab.json'", 17) == 0, "%s", err.text);
    ck_assert_ptr_null(viewer.model.name);
}

/* Open, read and look as run does. */
static int use_everything(struct arena *own, const struct selection *selection)
{
    struct text_pair pair;
    struct report report;
    struct input input = text("Life is short, eat dessert first");
    return viewer_open(&viewer, "tiny", 2, &err) ||
                   viewer_read(&viewer, &pair, &input, NULL, own, &err) ||
                   viewer_look(&viewer, &(struct look){selection, &pair, 1, 0, &report}, own, &err)
               ? -1
               : 0;
}

TEST(every_allocation_that_fails_is_an_error)
{
    struct selection selection;
    open_model("tiny");
    choose(&selection, "all", "0,2");
    viewer_release(&viewer);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int failed = -1;
        for (size_t nth = 1; failed; nth += one_of(41) + nth / 32) {
            struct arena own = {0};
            err = (struct err){0};
            heap_fail_at(nth, for_ever);
            failed = use_everything(&own, &selection);
            heap_fail_at(0, 0);
            if (failed && !strstr(err.text, "out of memory"))
                ck_abort_msg("allocation %zu: '%s'", nth, err.text);
            ck_assert(failed || nth > 50);
            arena_release(&own);
            viewer_release(&viewer);
        }
    }
}
