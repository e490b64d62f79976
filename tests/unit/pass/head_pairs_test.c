#include "pass/cache.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"
#include "math/precision.h"

/* Around the edges of pairs, panels of columns, and blocks that are rounded together. */
static const size_t widths[] = {1, 2, 3, 5, 63, 64, 65, 127, 128, 130};

enum { WIDEST = 130 };

static float rows[KEY_PANEL][WIDEST];
static struct guarded page_memory;

static void open_page(void)
{
    uint32_t dice = 5;
    dice_fill(&rows[0][0], sizeof rows / sizeof(float), &dice);
    page_memory = guarded_open(3 * HEAD_PAIRS_APART);
}

static void close_page(void)
{
    guarded_close(&page_memory);
}

/* A page of zeros that ends at a guard page. */
static uint32_t *take(size_t count)
{
    uint32_t *page = (void *)guarded_take(&page_memory, count);
    memset(page, 0, count * sizeof *page);
    return page;
}

static uint32_t half(uint32_t pair, size_t second)
{
    return second ? pair >> 16 : pair & 0xffff;
}

static uint32_t key_at(const uint32_t *page, size_t place, size_t column)
{
    return half(page[column / 2 * KEY_PANEL + place], column % 2);
}

static uint32_t value_at(const uint32_t *page, size_t place, size_t column)
{
    const uint32_t *panel = page + column / PAIR_COLUMNS * HEAD_PAIRS_APART;
    return half(panel[place / 2 * PAIR_COLUMNS + column % PAIR_COLUMNS], place % 2);
}

static uint32_t expected(size_t place, size_t column, size_t count)
{
    return place < count ? bf16_round(rows[place][column]) : 0;
}

static void expect_keys(const uint32_t *page, size_t width)
{
    size_t wrong = 0;
    for (size_t place = 0; place < KEY_PANEL; place++)
        for (size_t i = 0; i < (width + 1) / 2 * 2; i++)
            wrong += key_at(page, place, i) != (i < width ? expected(place, i, KEY_PANEL) : 0);
    ck_assert_uint_eq(wrong, 0);
}

static void expect_values(const uint32_t *page, size_t width, size_t count)
{
    size_t wrong = 0;
    for (size_t place = 0; place < KEY_PANEL; place++)
        for (size_t i = 0; i < width; i++)
            wrong += value_at(page, place, i) != expected(place, i, count);
    ck_assert_uint_eq(wrong, 0);
}

TEST(filling_a_page_packs_every_token)
{
    open_page();
    for (size_t w = 0; w < COUNT(widths); w++) {
        size_t width = widths[w];
        static float panel[WIDEST * KEY_PANEL];
        for (size_t i = 0; i < width * KEY_PANEL; i++)
            panel[i] = rows[i % KEY_PANEL][i / KEY_PANEL];
        uint32_t *keys = take(head_pairs_of_keys(width));
        head_pairs_fill_keys(keys, panel, width);
        expect_keys(keys, width);
        uint32_t *values = take(head_pairs_of_values(width));
        for (size_t count = KEY_PANEL; count > 0; count--) {
            struct matrix some = {&rows[0][0], count, width, WIDEST};
            head_pairs_fill_values(values, some); /* overwrites more values */
            expect_values(values, width, count);
        }
    }
    close_page();
}
