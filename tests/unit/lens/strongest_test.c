#include "lens/sheet.h"

#include <math.h>

#include "../unit.h"
#include "base/buf.h"

static const struct label tokens[] = {{"␣a", "0:a", " a"}, {"7", "1:7", "7"}, {"b", "2:b", "b"}};
static const struct label parts[] = {{"0", "0", "0"}, {"1", "1", "1"}, {"mlp", "mlp", "mlp"}};

static void check_names(const struct sheet *sheet, const char *const *names, size_t count)
{
    struct strongest strongest = {0};
    strongest_add(&strongest, sheet);
    ck_assert_uint_eq(strongest.count, count);
    for (size_t i = 0; i < count; i++) {
        struct buf name = {0};
        strong_cell_name(&name, &strongest.cells[i]);
        buf_char(&name, '\0');
        ck_assert_str_eq(name.bytes, names[i]);
        buf_release(&name);
    }
}

TEST(what_is_seen_and_farthest_from_0_comes_first)
{
    static const float values[] = {-1, 9, 9, 0, 2, 9, NAN, -INFINITY, -3};
    static const char *const names[] = {"layer 4 head 2 b from b", "layer 4 head 2 query 7 from 7",
                                        "layer 4 head 2 ␣a from ␣a"};
    const struct sheet sheet = {.layer = 4,
                                .head = 2,
                                .rows = {"query", 3, tokens, 0},
                                .columns = {"key", 3, tokens, 0},
                                .values = values,
                                .causal = true};
    check_names(&sheet, names, COUNT(names));
}

TEST(numbered_parts_of_a_layer_are_heads)
{
    static const float values[] = {4, 3, 2, 1, 0, 0};
    static const char *const names[] = {"layer 0 head 0", "layer 0 head 1", "layer 0 mlp",
                                        "layer 1 head 0"};
    const struct sheet sheet = {.layer = -1,
                                .head = -1,
                                .rows = {"layer", 2, parts, 0},
                                .columns = {"part", 3, parts, 0},
                                .values = values};
    check_names(&sheet, names, COUNT(names));
}

TEST(of_equal_ones_the_first_stay)
{
    float values[2 * STRONGEST_MAX];
    struct label labels[2 * STRONGEST_MAX];
    struct strongest strongest = {0};
    for (size_t i = 0; i < COUNT(values); i++) {
        values[i] = i == STRONGEST_MAX + 1 ? -2 : 1;
        labels[i] = parts[0];
    }
    const struct sheet sheet = {.rows = {"layer", 1, parts, 0},
                                .columns = {"neuron", COUNT(values), labels, 0},
                                .values = values};
    strongest_add(&strongest, &sheet);
    ck_assert_uint_eq(strongest.count, STRONGEST_MAX);
    ck_assert_uint_eq(strongest.cells[0].column, STRONGEST_MAX + 1);
    for (size_t i = 1; i < STRONGEST_MAX; i++)
        ck_assert_uint_eq(strongest.cells[i].column, i - 1);
}
