#include "lens/selection.h"
#include "model/config.h"

#include "../unit.h"

TEST(a_model_has_one_attention_or_three)
{
    static const struct {
        struct config config;
        enum site_part first;
        bool has_self, has_cross, has_encoder;
        enum site_part sites; /* of its cross-attention */
    } cases[] = {
        {{.kind = MODEL_GPT2}, PART_SENTENCE, true, false, false, PART_SENTENCE},
        {{.kind = MODEL_ATTENTION, .cross = true}, PART_CROSS, false, true, false, PART_SENTENCE},
        {{.kind = MODEL_TRANSFORMER, .cross = true, .n_encoder_layer = 1},
         PART_SENTENCE,
         true,
         true,
         true,
         PART_CROSS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct config *config = &cases[i].config;
        ck_assert_int_eq(attention_part_first(config), cases[i].first);
        ck_assert_int_eq(attention_part_is_there(PART_SENTENCE, config), cases[i].has_self);
        ck_assert_int_eq(attention_part_is_there(PART_CROSS, config), cases[i].has_cross);
        ck_assert_int_eq(attention_part_is_there(PART_SOURCE, config), cases[i].has_encoder);
        ck_assert_int_eq(attention_part_sites(PART_CROSS, config), cases[i].sites);
    }
}
