#include "story.h"

#include <check.h>
#include <string.h>

#include "base/buf.h"

/* A text that looks at a source; without an input it begins as the model says. */
void story_open_beside(struct story *story, const char *model, const struct input *input,
                       const struct input *source)
{
    struct err err = {0};
    *story = (struct story){0};
    int failed = viewer_open(&story->viewer, model, 1, &err) ||
                 viewer_read(&story->viewer, &story->prompt, input, source, &story->arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

void story_open(struct story *story, const char *model, const struct input *input)
{
    story_open_beside(story, model, input, NULL);
}

void story_release(struct story *story)
{
    continuation_release(&story->text);
    viewer_release(&story->viewer);
    arena_release(&story->arena);
}

void story_begin(struct story *story, const struct generation_config *generation)
{
    struct err err = {0};
    ck_assert_msg(
        continuation_open(&story->text, &story->viewer, &story->prompt, generation, &err) == 0,
        "%s", err.text);
}

void story_go_on(struct story *story)
{
    struct err err = {0};
    bool more = true;
    while (more) {
        size_t before = story->text.text.size;
        ck_assert_msg(continuation_next(&story->text, &more, &err) == 0, "%s", err.text);
        if (more)
            ck_assert_uint_eq(story->text.shown, before);
    }
}

struct input story_input(const char *text)
{
    return (struct input){.text = text, .size = strlen(text)};
}

/* "34,104": the ids of a story, which its text may be cut into in another way; of the arena. */
const char *story_ids(struct story *story)
{
    struct buf list = {0};
    for (size_t i = 0; i < story->text.count; i++)
        buf_format(&list, "%s%u", i ? "," : "", story->text.ids[i]);
    char *copy = arena_alloc(&story->arena, list.size + 1, 1, NULL);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, list.bytes, list.size + 1);
    buf_release(&list);
    return copy;
}

void story_select(struct story *story, const char *heads)
{
    const struct config *config = &story->viewer.model.config;
    ck_assert_int_eq(selection_sites(&story->selection, "all", config, NULL), 0);
    story->selection.sites &= ~site_bit(SITE_SCORES);
    ck_assert_int_eq(selection_layers(&story->selection, "all", config, &story->arena, NULL), 0);
    ck_assert_int_eq(selection_heads(&story->selection, heads, config, &story->arena, NULL), 0);
}

/* The report must be, to the bit, that of a run over the whole text. */
void story_expect_report(struct story *story)
{
    struct report grown;
    struct report whole;
    struct input input = story_input(story->text.text.bytes);
    struct text_pair pair;
    struct look look = {&story->selection, &pair, 1, 0, &whole};
    struct arena *arena = &story->arena;
    ck_assert_int_eq(continuation_report(&story->text, &grown, arena, NULL), 0);
    ck_assert_int_eq(viewer_read(&story->viewer, &pair, &input, NULL, arena, NULL), 0);
    pair.source = story->prompt.source;
    ck_assert_int_eq(viewer_look(&story->viewer, &look, arena, NULL), 0);
    ck_assert_uint_eq(grown.source.count, whole.source.count);
    ck_assert_str_eq(grown.sentence.text, whole.sentence.text);
    ck_assert_uint_eq(grown.sentence.count, whole.sentence.count);
    for (size_t i = 0; i < whole.sentence.count; i++) {
        ck_assert_uint_eq(grown.sentence.tokens[i].id, whole.sentence.tokens[i].id);
        ck_assert_uint_eq(grown.sentence.tokens[i].start, whole.sentence.tokens[i].start);
        ck_assert_uint_eq(grown.sentence.tokens[i].end, whole.sentence.tokens[i].end);
        ck_assert_str_eq(grown.sentence.labels[i].exact, whole.sentence.labels[i].exact);
    }
    ck_assert_uint_eq(grown.tensor_count, whole.tensor_count);
    for (size_t i = 0; i < whole.tensor_count; i++) {
        const struct kept *one = &whole.tensors[i];
        const struct kept *other = &grown.tensors[i];
        size_t count = one->shape[0] * one->shape[1] * (one->rank == 3 ? one->shape[2] : 1);
        ck_assert_int_eq(one->site, other->site);
        ck_assert_int_eq(one->layer, other->layer);
        ck_assert_uint_eq(one->rank, other->rank);
        ck_assert_mem_eq(one->shape, other->shape, sizeof one->shape);
        ck_assert_msg(memcmp(one->data, other->data, count * sizeof *one->data) == 0,
                      "'%s' of layer %d differs", site_rows[one->site].name, one->layer);
        ck_assert(!one->heads == !other->heads);
        if (one->heads)
            ck_assert_mem_eq(one->heads, other->heads, one->shape[0] * sizeof *one->heads);
    }
}
