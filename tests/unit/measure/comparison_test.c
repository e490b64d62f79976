#include "measure/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "../unit.h"
#include "model/mechanism.h"

enum { HEADS = 4, LAYERS = 2, HEAD = 2, CHANNELS = HEADS * HEAD };

/* clang-format off */
static const char config[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 9, "n_embd": 8, "n_layer": 2,
          "n_head": 4, "n_inner": 7});
/* clang-format on */

static struct viewer one, other;
static struct arena arena;
static struct err err;

FIXTURE(scratch_enter, scratch_leave)

static void save(const struct tiny_model *model, const char *folder)
{
    char path[64];
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    scratch_write(path, config);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(model->bytes.bytes, 1, model->bytes.size, file), model->bytes.size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Move head h to to[h]: columns of queries, keys and values, rows of the output projection. */
static void move_heads(struct tiny_model *model, size_t layer, const size_t to[HEADS])
{
    static const char *const names[] = {"h.%zu.attn.c_attn.weight", "h.%zu.attn.c_attn.bias",
                                        "h.%zu.attn.c_proj.weight"};
    for (size_t branch = 0; branch < 3; branch++) {
        char name[64];
        snprintf(name, sizeof name, names[branch], layer);
        struct tiny_tensor *tensor = tiny_model_tensor(model, name);
        float old[3 * CHANNELS * CHANNELS];
        memcpy(old, tensor->values, tensor->count * sizeof *old);
        size_t wide = branch == 2 ? CHANNELS : 1; /* move whole rows */
        for (size_t i = 0; i < tensor->count; i++) {
            size_t channel = i / wide % CHANNELS;
            size_t moved = to[channel / HEAD] * HEAD + channel % HEAD;
            tensor->values[i - channel * wide + moved * wide] = old[i];
        }
    }
}

static void open(struct viewer *viewer, const char *model, size_t threads)
{
    ck_assert_msg(!viewer_open(viewer, model, threads, &err), "%s", err.text);
}

static void read_pair(struct text_with_source *pair, const struct viewer *viewer,
                      struct input input)
{
    ck_assert_msg(!viewer_read(viewer, pair, &input, NULL, &arena, &err), "%s", err.text);
}

static double number(const struct report *report, const char *name, size_t row)
{
    const struct table *table = report->tables;
    size_t column = 0;
    while (strcmp(table->columns[column].name, name) != 0)
        column++;
    return column_number(&table->columns[column], row);
}

static void compare(struct report *report, const char *second)
{
    static struct selection selection;
    struct text_with_source pair;
    open(&one, "first", 1);
    open(&other, second, 1);
    read_pair(&pair, &one, (struct input){.ids = "3,1,4,1,5,9,2"});
    ck_assert(!selection_layers(&selection, NULL, &one.model.config, &arena, &err));
    const struct comparison_run runs[] = {{&one, "first", NULL, false},
                                          {&other, second, NULL, false}};
    const struct comparison_plan plan = {runs, 2, &pair, 1, &selection, .most_cells = 0};
    ck_assert_msg(!comparison_make(report, &plan, &arena, &err), "%s", err.text);
}

static void close_models(struct tiny_model *model)
{
    viewer_release(&one);
    viewer_release(&other);
    arena_release(&arena);
    tiny_model_release(model);
}

TEST(permuted_heads_are_matched)
{
    static const size_t to[LAYERS][HEADS] = {{2, 0, 3, 1}, {1, 0, 2, 3}};
    struct tiny_model model;
    struct report report;
    tiny_model_make(&model, config);
    for (size_t layer = 0; layer < LAYERS; layer++) { /* larger weights, so that heads differ */
        char name[64];
        snprintf(name, sizeof name, "h.%zu.attn.c_attn.weight", layer);
        struct tiny_tensor *tensor = tiny_model_tensor(&model, name);
        for (size_t i = 0; i < tensor->count; i++)
            tensor->values[i] *= 8;
    }
    tiny_model_write(&model, 0);
    save(&model, "first");
    for (size_t layer = 0; layer < LAYERS; layer++)
        move_heads(&model, layer, to[layer]);
    tiny_model_write(&model, 0);
    save(&model, "moved");
    compare(&report, "moved");
    for (size_t i = 0; i < LAYERS * HEADS; i++) {
        ck_assert_uint_eq((size_t)number(&report, "match", i), to[i / HEADS][i % HEADS]);
        ck_assert(number(&report, "matched_distance", i) < 1e-5);
        if (to[i / HEADS][i % HEADS] != i % HEADS)
            ck_assert(number(&report, "distance", i) > 1e-3);
    }
    for (size_t row = LAYERS * HEADS; row < report.tables->rows.size; row++) {
        const char *site = report.tables->rows.labels[row].text;
        ck_assert(strcmp(site, "logits") != 0 || number(&report, "distance", row) < 1e-5);
        ck_assert(strcmp(site, "context") != 0 || number(&report, "distance", row) > 1e-2);
    }
    close_models(&model);
}

TEST(comparing_a_few_layers_at_a_time_gives_the_same)
{
    static const char *const names[] = {"dense", "window:2", "linear", "blocked:3"};
    static const char *const texts[] = {"Life is short", "Life is short, eat dessert first."};
    struct mechanism mechanisms[COUNT(names)] = {{0}};
    struct comparison_run runs[COUNT(names)];
    struct text_with_source pairs[COUNT(texts)];
    struct selection selection = {0};
    struct report whole, in_pieces;
    open(&one, "tiny", 2);
    for (size_t i = 0; i < COUNT(texts); i++)
        read_pair(&pairs[i], &one, (struct input){.text = texts[i], .size = strlen(texts[i])});
    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert(!mechanism_set_attention(&mechanisms[i], names[i], &err));
        runs[i] = (struct comparison_run){&one, names[i], &mechanisms[i], false};
    }
    ck_assert(!selection_layers(&selection, NULL, &one.model.config, &arena, &err));
    struct comparison_plan plan = {.runs = runs,
                                   .run_count = COUNT(names),
                                   .pairs = pairs,
                                   .pair_count = COUNT(pairs),
                                   .selection = &selection};
    ck_assert_msg(!comparison_make(&whole, &plan, &arena, &err), "%s", err.text);
    plan.most_cells = 1;
    ck_assert_msg(!comparison_make(&in_pieces, &plan, &arena, &err), "%s", err.text);
    size_t rows = (COUNT(names) - 1) * (1 + 8); /* for all heads, and for each */
    ck_assert_uint_eq(whole.tables->rows.size, rows);
    for (size_t row = 0; row < rows; row++) {
        ck_assert(number(&whole, "mean_difference", row) > 0 || row >= rows - 9);
        ck_assert(number(&whole, "max_difference", row) ==
                  number(&in_pieces, "max_difference", row));
        ck_assert(number(&whole, "overlap", row) == number(&in_pieces, "overlap", row));
    }
    viewer_release(&one);
    arena_release(&arena);
}
