#include "measure/model_distance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "../unit.h"

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

/* Head `to[h]` of the new order is head h of the old one: columns of queries, keys and values, rows
 * of what comes after. */
static void move_heads(struct tiny_model *model, size_t layer, const size_t to[HEADS])
{
    static const char *const names[] = {"h.%zu.attn.c_attn.weight", "h.%zu.attn.c_attn.bias",
                                        "h.%zu.attn.c_proj.weight"};
    for (size_t part = 0; part < 3; part++) {
        char name[64];
        snprintf(name, sizeof name, names[part], layer);
        struct tiny_tensor *tensor = tiny_model_tensor(model, name);
        float old[3 * CHANNELS * CHANNELS];
        memcpy(old, tensor->values, tensor->count * sizeof *old);
        size_t wide = part == 2 ? CHANNELS : 1; /* numbers of a row stay together */
        for (size_t i = 0; i < tensor->count; i++) {
            size_t channel = i / wide % CHANNELS;
            size_t moved = to[channel / HEAD] * HEAD + channel % HEAD;
            tensor->values[i - channel * wide + moved * wide] = old[i];
        }
    }
}

static void compare(struct model_distance *distance, const char *second)
{
    static struct selection selection;
    static struct text_pair pair;
    static struct model_distance_plan plan;
    struct input input = {.ids = "3,1,4,1,5,9,2"};
    ck_assert_msg(!viewer_open(&one, "first", 1, &err) && !viewer_open(&other, second, 1, &err) &&
                      !viewer_read(&one, &pair, &input, NULL, &arena, &err) &&
                      !selection_layers(&selection, NULL, &one.model.config, &arena, &err),
                  "%s", err.text);
    plan = (struct model_distance_plan){{&one, &other}, &pair, 1, &selection, NULL, false};
    ck_assert_msg(!model_distance_make(distance, &plan, &arena, &err), "%s", err.text);
}

static void close_models(struct tiny_model *model)
{
    viewer_release(&one);
    viewer_release(&other);
    arena_release(&arena);
    tiny_model_release(model);
}

TEST(heads_that_changed_places_are_found)
{
    static const size_t to[LAYERS][HEADS] = {{2, 0, 3, 1}, {1, 0, 2, 3}};
    struct tiny_model model;
    struct model_distance distance;
    char hashes[2][SHA256_DIGITS + 1];
    tiny_model_make(&model, config);
    for (size_t layer = 0; layer < LAYERS; layer++) { /* heads that look at different things */
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
    compare(&distance, "moved");
    for (size_t i = 0; i < LAYERS * HEADS; i++) {
        ck_assert_uint_eq(distance.of_heads[i].match, to[i / HEADS][i % HEADS]);
        ck_assert(distance.of_heads[i].matched < 1e-5);
        if (to[i / HEADS][i % HEADS] != i % HEADS)
            ck_assert(distance.of_heads[i].distance > 1e-3);
    }
    ck_assert(distance.of_sites[model_distance_site(&distance, SITE_LOGITS, 0)] < 1e-5);
    ck_assert(distance.of_sites[model_distance_site(&distance, SITE_CONTEXT, 0)] > 1e-2);
    weights_hash(&one.model.weights, hashes[0]);
    weights_hash(&other.model.weights, hashes[1]);
    ck_assert_str_ne(hashes[0], hashes[1]);
    close_models(&model);
}
