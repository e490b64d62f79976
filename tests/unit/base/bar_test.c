#include "base/amount.h"

#include "../unit.h"

TEST(a_share_is_drawn_in_eighths_of_a_column)
{
    static const struct {
        double share;
        const char *bar;
    } cases[] = {
        {0, "                "},         {1, "████████████████"},
        {0.5, "████████        "},       {0.687, "███████████     "},
        {0.68, "██████████▉     "},      {1.0 / 128, "▏               "},
        {0.4 / 128, "                "}, {127.0 / 128, "███████████████▉"},
        {-1, "                "},        {7, "████████████████"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bar[BAR_BYTES];
        ck_assert_str_eq(bar_draw(bar, cases[i].share, BAR_COLUMNS), cases[i].bar);
    }
}
