#include "model/layer.h"
#include "model/parameter_table.h"

#include <stdint.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/tiny_model.h"
#include "model/family/family.h"

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "gpt2", "n_layer": 2, "n_embd": 12}),
    JSON({"model_type": "attention", "vocab_size": 5, "n_embd": 4, "n_layer": 3, "bias": true}),
    JSON({"model_type": "transformer", "vocab_size": 5, "n_embd": 4, "n_layer": 2,
          "n_encoder_layer": 3}),
    JSON({"model_type": "opt", "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 2,
          "num_attention_heads": 2, "word_embed_proj_dim": 4}),
    JSON({"model_type": "gemma3_text", "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 2,
          "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}),
    JSON({"model_type": "gemma3n_text", "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 2,
          "num_kv_shared_layers": 0, "num_attention_heads": 2, "num_key_value_heads": 1})};
/* clang-format on */

TEST_LOOP(a_list_has_each_slot_once_and_finds_it, COUNT(configs))
{
    struct config config;
    struct slot list[200];
    size_t shape[SLOT_RANK_MAX], without[SLOT_RANK_MAX];
    ck_assert_int_eq(config_parse(&config, configs[_i], strlen(configs[_i]), NULL), 0);
    ck_assert_int_eq(config_describe(&config, NULL), 0);
    size_t count = slot_list(NULL, 0, &config);
    ck_assert_uint_le(count, COUNT(list));
    ck_assert_uint_eq(slot_list(list, sizeof *list, &config), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(slot_find(list, count, sizeof *list, list[i]), i);
        ck_assert_uint_gt(slot_shape(shape, list[i], &config), 0);
        if (!(list[i].id & 1))
            continue;
        struct slot of = list[i];
        of.id--; /* the matrix or scale comes before its bias or shift */
        ck_assert_uint_eq(slot_find(list, count, sizeof *list, of), i - 1);
        slot_shape(without, of, &config);
        ck_assert_uint_eq(shape[0], without[0]);
    }
    for (int branch = 0; branch < SITE_BRANCHES; branch++)
        for (int id = 0; id < SLOTS; id++)
            for (int layer = -1; layer < 5; layer++) {
                short first = (short)(slot_count(id, &config) ? 0 : -1);
                struct slot slot = {(unsigned char)branch, (unsigned char)id, (short)layer, first};
                bool found = slot_find(list, count, sizeof *list, slot) != SIZE_MAX;
                ck_assert_msg(found == slot_exists(slot, &config), "part %d slot %d layer %d",
                              branch, id, layer);
            }
    config_release(&config);
}

TEST(the_longest_name_fits)
{
    char name[PARAMETER_NAME_BYTES];
    const struct family *family;
    for (size_t i = 0; (family = family_at(i)); i++)
        for (int branch = 0; branch < (family->names->source_layers ? 3 : 1); branch++)
            for (int id = SLOT_TOKENS; id < SLOTS; id++) {
                struct slot slot =
                    id < SLOTS_OF_ENDS ? slot_of_end(branch, id) : slot_of(branch, id, 16383);
                family_tensor_name(name, &(struct config){.family = family}, slot);
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
