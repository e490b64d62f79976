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

TEST(a_cell_has_the_layer_and_head_of_its_sheet_or_its_labels)
{
    static const struct label labels[] = {
        {.plain = "embed"}, {.plain = "2"}, {.plain = "L1H10"}, {.plain = "mlp"}};
    enum { EMBED, TWO, L1H10, MLP };
    static const struct {
        const char *rows, *columns;
        size_t row, column;
        int of_sheet[2], expected[2]; /* layer, head */
    } cases[] = {
        {"query", "key", L1H10, TWO, {0, 3}, {0, 3}},
        {"query", "key", L1H10, TWO, {-1, -1}, {-1, -1}},
        {"head", "key", TWO, TWO, {4, -1}, {4, 2}},
        {"layer", "head", TWO, TWO, {-1, -1}, {2, 2}},
        {"layer", "token", TWO, TWO, {-1, -1}, {2, -1}},
        {"layer", "part", TWO, TWO, {-1, -1}, {2, 2}},
        {"layer", "part", TWO, MLP, {-1, -1}, {2, -1}},
        {"layer", "part", EMBED, TWO, {-1, -1}, {-1, -1}},
        {"head", "later", L1H10, TWO, {-1, -1}, {1, 10}},
        {"relation", "head", EMBED, L1H10, {-1, -1}, {1, 10}},
        {"layer", "head", TWO, SHEET_NO_COLUMN, {-1, -1}, {2, -1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sheet sheet = {.layer = cases[i].of_sheet[0],
                              .head = cases[i].of_sheet[1],
                              .rows = {cases[i].rows, COUNT(labels), labels, 0},
                              .columns = {cases[i].columns, COUNT(labels), labels, 0}};
        int layer, head;
        sheet_layer_head(&sheet, cases[i].row, cases[i].column, &layer, &head);
        ck_assert_msg(layer == cases[i].expected[0] && head == cases[i].expected[1],
                      "case %zu: layer %d head %d", i, layer, head);
    }
}
