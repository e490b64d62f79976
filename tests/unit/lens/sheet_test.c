#include "lens/sheet.h"

#include "../unit.h"

TEST(a_sheet_is_named_by_tensor_layer_and_head)
{
    static const struct {
        struct sheet sheet;
        const char *title;
        const char *stem;
    } cases[] = {
        {{.tensor = "weights", .layer = 0, .head = 0}, "weights layer 0 head 0", "weights.l00.h00"},
        {{.tensor = "k", .layer = 11, .head = 7}, "k layer 11 head 7", "k.l11.h07"},
        {{.tensor = "q", .layer = 100, .head = 123}, "q layer 100 head 123", "q.l100.h123"},
        {{.tensor = "ln_1", .layer = 3, .head = -1}, "ln_1 layer 3", "ln_1.l03"},
        {{.tensor = "logits", .layer = -1, .head = -1}, "logits", "logits"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[SHEET_NAME_BYTES];
        ck_assert_str_eq(sheet_title(text, &cases[i].sheet), cases[i].title);
        ck_assert_str_eq(sheet_stem(text, &cases[i].sheet), cases[i].stem);
    }
}

TEST(the_future_is_hidden_only_under_a_causal_mask)
{
    struct sheet sheet = {.causal = true};
    ck_assert(!sheet_hides(&sheet, 1, 0));
    ck_assert(!sheet_hides(&sheet, 1, 1));
    ck_assert(sheet_hides(&sheet, 1, 2));
    sheet.causal = false;
    ck_assert(!sheet_hides(&sheet, 1, 2));
}

TEST(a_cell_is_found_by_row_and_column)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    struct sheet sheet = {.rows = {.size = 2}, .columns = {.size = 3}, .values = values};
    ck_assert_float_eq(sheet_cell(&sheet, 0, 2), 3);
    ck_assert_float_eq(sheet_cell(&sheet, 1, 0), 4);
}
