/* Maps emitted one after another have the bits of all maps at once. Run in the repository's root.
 */
#include <string.h>

#include "../unit.h"
#include "lens/viewer.h"

struct taken {
    const struct report *all;
    size_t tensor, head, cells;
};

/* Compare the next heads of the next tensor, and its planned shape. */
static int take(void *context, const struct report *whole, struct report *part, struct arena *arena,
                struct err *err)
{
    struct taken *taken = context;
    const struct array *array = &part->arrays[0];
    const struct array *expected = &taken->all->arrays[taken->tensor];
    const struct array *planned = &whole->arrays[taken->tensor];
    size_t cells = expected->rows.size * expected->columns.size;
    (void)arena;
    (void)err;
    ck_assert_uint_eq(whole->array_count, taken->all->array_count);
    ck_assert(!planned->data && planned->heads.name);
    ck_assert_uint_eq(planned->heads.size, expected->heads.size);
    ck_assert_uint_eq(planned->rows.size, expected->rows.size);
    ck_assert_uint_eq(planned->columns.size, expected->columns.size);
    ck_assert_int_eq(array->site, expected->site);
    ck_assert_int_eq(array->layer, expected->layer);
    ck_assert(!array->visible == !expected->visible);
    for (size_t i = 0; i < array->heads.size; i++, taken->head++) {
        ck_assert_uint_eq(array->heads.numbers[i], expected->heads.numbers[taken->head]);
        ck_assert_mem_eq(array->data + i * cells, expected->data + taken->head * cells,
                         cells * sizeof(float));
        taken->cells += cells;
    }
    taken->tensor += taken->head == expected->heads.size;
    taken->head %= expected->heads.size;
    return 0;
}

static const struct {
    const char *model, *sites, *layers, *heads;
} cases[] = {
    {"models/tiny", "scores,masked,weights", NULL, NULL},
    {"models/tiny", "weights", "1", "1,3"},
    {"tests/references/golden/gpt2-micro", "weights", NULL, NULL},
    {"tests/references/golden-families/llama", "masked,weights", NULL, "-1"},
    {"tests/references/golden-families/mistral", "weights", NULL, NULL}, /* a window */
    {"tests/references/golden-families/gemma2", "masked,weights", NULL,
     NULL}, /* windows of some layers */
    {"tests/references/golden-families/gpt_neox", "weights", NULL, NULL}, /* parallel sublayers */
    {"tests/references/golden-families/opt-350m-style", "weights", NULL, NULL}, /* post-norm */
    {"tests/references/golden-families/olmo2", "weights", NULL, NULL}, /* norms of q and k rows */
    {"tests/references/golden-families/bloom", "weights", NULL, NULL}, /* ALiBi */
    {"tests/references/golden-families/falcon", "weights", "1", NULL}, /* shared keys */
    {"tests/references/golden-families/gemma4_text", "weights", NULL,
     NULL}, /* keys of other layers */
    {"tests/references/golden-families/qwen3_5_text", "weights", "2", NULL}, /* gated attention */
    {"tests/references/golden-families/gemma3n_text", "weights", NULL,
     NULL}, /* copies of the stream */
};

TEST_LOOP(maps_one_after_another_have_the_bits_of_all_at_once, COUNT(cases))
{
    struct viewer viewer;
    struct arena arena = {0};
    struct err err = {0};
    struct selection selection = {0};
    struct text_with_source pair;
    struct report all, planned;
    const struct capture_request asked = {&selection, &pair, 1, 0, &all, NULL};
    struct capture_request by_map = asked;
    struct taken taken = {.all = &all};
    const struct input input = {.ids = "1,4,2,0,3,1,5"};
    size_t cells = 0;
    by_map.reports = &planned;
    int failed =
        viewer_open(&viewer, cases[_i].model, 2, &err) ||
        selection_sites(&selection, cases[_i].sites, &viewer.model.config, &err) ||
        selection_layers(&selection, cases[_i].layers, &viewer.model.config, &arena, &err) ||
        selection_heads(&selection, cases[_i].heads, &viewer.model.config, &arena, &err) ||
        viewer_read(&viewer, &pair, &input, NULL, &arena, &err) ||
        viewer_capture(&viewer, &asked, &arena, &err) ||
        viewer_capture_by_map(&viewer, &by_map, take, &taken, &arena, &err);
    ck_assert_msg(!failed, "%s: %s", cases[_i].model, err.text);
    for (size_t i = 0; i < all.array_count; i++)
        cells += array_cells(&all.arrays[i]);
    ck_assert_uint_eq(taken.cells, cells);
    ck_assert(!viewer_goes_by_map(&viewer, &asked)); /* the text is short */
    viewer_release(&viewer);
    arena_release(&arena);
}
