#include "model/parameter_table.h"

#include <stdint.h>
#include <string.h>

#include "../unit.h"
#include "model/config.h"

/* weights.c relies on this order: a matrix, its bias; a scale, its shift. */
TEST(a_bias_follows_its_matrix)
{
    for (int id = 1; id < PARAMETERS; id++) {
        const char *name = parameter_rows[id].name;
        const char *before = parameter_rows[id - 1].name;
        size_t stem = strlen(name) - strlen(".bias");
        if (strcmp(name + stem, ".bias") != 0)
            continue;
        ck_assert_uint_eq(strlen(before), stem + strlen(".weight"));
        ck_assert(strncmp(name, before, stem) == 0);
        ck_assert_str_eq(before + stem, ".weight");
    }
}

TEST(the_longest_name_fits)
{
    static const struct config config = {.n_encoder_layer = 16384};
    char name[PARAMETER_NAME_BYTES];
    for (int id = 0; id < PARAMETERS; id++) {
        parameter_name(name, (enum parameter_id)id, 16383, &config);
        ck_assert_uint_lt(strlen(name), PARAMETER_NAME_BYTES - 1);
    }
}

TEST(shapes_of_every_rank_are_written)
{
    static const struct {
        size_t rank;
        size_t shape[8];
        const char *text;
    } cases[] = {
        {0, {0}, "[]"},
        {1, {5}, "[5]"},
        {4, {1, 1, 1024, 1024}, "[1, 1, 1024, 1024]"},
        {8,
         {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX},
         "[18446744073709551615, 18446744073709551615, 18446744073709551615, 18446744073709551615, "
         "18446744073709551615, 18446744073709551615, 18446744073709551615, 18446744073709551615]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[PARAMETER_SHAPE_BYTES];
        ck_assert_str_eq(parameter_shape_text(text, cases[i].rank, cases[i].shape), cases[i].text);
    }
}
