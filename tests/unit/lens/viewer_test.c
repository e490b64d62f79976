#include "lens/viewer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "model/mechanism.h"
#include "pass/pass.h"

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

static void read_text(struct text_with_source *pair, const char *bytes)
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

static int asked(const struct selection *selection, const struct text_with_source *pairs,
                 size_t count, struct report *reports)
{
    return viewer_capture(&viewer, &(struct capture_request){selection, pairs, count, 0, reports},
                          &arena, &err);
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

TEST(texts_of_a_batch_have_the_bits_of_each_alone)
{
    static const char *const texts[] = {"Life is short", "Life", "eat dessert first , short life"};
    struct selection selection;
    struct text_with_source pairs[COUNT(texts)];
    struct report together[COUNT(texts)];
    open_model("tiny");
    choose(&selection, "all", NULL);
    for (size_t i = 0; i < COUNT(texts); i++)
        read_text(&pairs[i], texts[i]);
    ck_assert_int_eq(asked(&selection, pairs, COUNT(texts), together), 0);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct report alone;
        ck_assert_int_eq(asked(&selection, &pairs[i], 1, &alone), 0);
        ck_assert_uint_eq(alone.array_count, together[i].array_count);
        for (size_t t = 0; t < alone.array_count; t++) {
            const struct array *a = &alone.arrays[t];
            const struct array *b = &together[i].arrays[t];
            ck_assert_uint_eq(a->heads.size, b->heads.size);
            ck_assert_uint_eq(a->rows.size, b->rows.size);
            ck_assert_uint_eq(a->columns.size, b->columns.size);
            ck_assert_mem_eq(a->data, b->data, array_cells(a) * sizeof *a->data);
        }
    }
}

/* Labels and lists take less than a megabyte. */
TEST(a_look_takes_the_memory_that_it_says)
{
    static const struct {
        const char *sites, *heads, *queries, *attention;
    } cases[] = {
        {"weights", NULL, NULL, "dense"},
        {"scores,masked,weights", "1", NULL, "dense"},
        {"weights", NULL, "3-40", "dense"},
        {"masked,weights", NULL, NULL, "window:4"},
        {"q,k,v,mlp_act,ln_f", NULL, NULL, "dense"},
        {"rollout,value_weighted", NULL, NULL, "dense"},
    };
    char text[512] = "";
    struct text_with_source pair;
    open_model("tiny");
    for (size_t i = 0; i < 60; i++)
        strcat(text, " the");
    read_text(&pair, text);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct selection selection;
        struct mechanism mechanism = {0};
        struct memory memory = {0};
        struct report report;
        choose(&selection, cases[i].sites, cases[i].heads);
        selection.queries = cases[i].queries;
        ck_assert_int_eq(mechanism_set_attention(&mechanism, cases[i].attention, NULL), 0);
        ck_assert_int_eq(viewer_set_mechanism(&viewer, &mechanism, NULL), 0);
        viewer_add_memory(&memory, &viewer, &selection, &pair, CAPTURE_ALL);
        size_t before = arena.taken_bytes;
        ck_assert_int_eq(asked(&selection, &pair, 1, &report), 0);
        double taken = (double)(arena.taken_bytes - before);
        ck_assert_double_ge(taken, memory.held);
        ck_assert_double_le(taken, memory.held + 100000);
        ck_assert_double_ge(memory.during, (double)pass_memory_bytes(&viewer.model.config, 60));
    }
}

/* Sanitizers reserve all addresses at the start. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(weights_are_packed_only_in_half_of_the_free_memory)
{
    size_t pages = 0;
    open_model("tiny");
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    for (size_t more = 0; more < 2; more++) { /* packed, they take 1 MiB */
        size_t most = pages * (size_t)sysconf(_SC_PAGESIZE) + ((more ? 16 : 1) << 20);
        struct rlimit limit = {most, RLIM_INFINITY};
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
        viewer_expect(&viewer, EXPECT_TOKENS, 100000);
        ck_assert_uint_eq(viewer.model.weights.packing, more);
    }
}
#endif

/* The number of expected tokens decides whether weights are packed. */
TEST(packing_does_not_change_a_bit)
{
    struct selection selection;
    struct text_with_source pair;
    struct report reports[2];
    open_model("tiny");
    read_text(&pair, "Life is short, eat dessert first");
    choose(&selection, "logits", NULL);
    ck_assert_msg(!asked(&selection, &pair, 1, &reports[0]), "%s", err.text);
    viewer_expect(&viewer, EXPECT_TOKENS, 100);
    ck_assert(!viewer.model.weights.packing);
    viewer_expect(&viewer, EXPECT_TOKENS, 100000);
    ck_assert(viewer.model.weights.packing);
    viewer_expect(&viewer, EXPECT_STEPS, 10);
    ck_assert(!viewer.model.weights.packing_words);
    viewer_expect(&viewer, EXPECT_STEPS, 1000);
    ck_assert(viewer.model.weights.packing_words);
    ck_assert_msg(!asked(&selection, &pair, 1, &reports[1]), "%s", err.text);
    ck_assert_mem_eq(reports[0].arrays[0].data, reports[1].arrays[0].data,
                     pair.text.count * 512 * sizeof(float));
}

TEST(queries_choose_the_logits_that_are_kept)
{
    struct text_with_source pair;
    struct selection selection;
    struct report all, one;
    open_model("tiny");
    read_text(&pair, "The dog is hungry");
    choose(&selection, "logits", "all");
    ck_assert_msg(!asked(&selection, &pair, 1, &all), "%s", err.text);
    selection.queries = "2";
    selection.last_logits = true;
    ck_assert_msg(!asked(&selection, &pair, 1, &one), "%s", err.text);
    ck_assert_uint_eq(one.arrays->rows.size, 1);
    ck_assert_mem_eq(one.arrays->data, all.arrays->data + 2 * all.arrays->columns.size,
                     all.arrays->columns.size * sizeof(float));
}

TEST(a_model_that_does_not_open_releases_everything)
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

/* Viewers share panels packed before viewer_share(); later panels are separate. */
TEST_LOOP(a_second_viewer_has_the_same_numbers, 2)
{
    struct viewer second;
    struct text_with_source pair;
    struct selection selection;
    struct report reports[2];
    open_model("tiny");
    read_text(&pair, "The dog is hungry");
    choose(&selection, "weights,logits", "all");
    viewer_expect(&viewer, EXPECT_TOKENS, _i ? 1 << 20 : 1);
    ck_assert_int_eq(asked(&selection, &pair, 1, &reports[0]), 0);
    ck_assert_int_eq(viewer_share(&second, &viewer, &err), 0);
    size_t shared = viewer.model.weights.arena.taken_bytes;
    ck_assert_uint_eq(pool_threads(second.machine.pool), 1);
    struct capture_request other = {&selection, &pair, 1, 0, &reports[1]};
    ck_assert_int_eq(viewer_capture(&second, &other, &arena, &err), 0);
    ck_assert_uint_eq(reports[0].array_count, reports[1].array_count);
    for (size_t i = 0; i < reports[0].array_count; i++)
        ck_assert_mem_eq(reports[0].arrays[i].data, reports[1].arrays[i].data,
                         array_cells(&reports[0].arrays[i]) * sizeof(float));
    ck_assert_uint_eq(viewer.model.weights.arena.taken_bytes, shared);
    ck_assert_uint_lt(second.model.weights.arena.taken_bytes, 1 << 16);
    viewer_release_shared(&second);
}
