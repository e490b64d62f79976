#include "model/cache.h"

#include <string.h>

#include "math/precision.h"

/* Zeros for a row of a panel, of keys or of values. */
static const float
    none[(size_t)KEY_PANEL > (size_t)PAIR_COLUMNS ? (size_t)KEY_PANEL : (size_t)PAIR_COLUMNS];

size_t head_pairs_of_keys(size_t d_k)
{
    return bf16_pairs(d_k) * KEY_PANEL;
}

size_t head_pairs_of_values(size_t d_v)
{
    return (d_v + PAIR_COLUMNS - 1) / PAIR_COLUMNS * HEAD_PAIRS_APART;
}

/* How many columns of values stand beside each other from one on. */
static size_t columns_from(size_t first, size_t d_v)
{
    return d_v - first < PAIR_COLUMNS ? d_v - first : PAIR_COLUMNS;
}

void head_pairs_put_key(uint32_t *page, size_t place, const float *key, size_t d_k)
{
    enum { PART = 64 }; /* numbers that are rounded together */
    uint32_t part[PART / 2];
    uint32_t *column = page + place;
    for (size_t first = 0; first < d_k; first += PART) {
        size_t count = d_k - first < PART ? d_k - first : PART;
        bf16_pair_row(part, key + first, count);
        for (size_t i = 0; i < bf16_pairs(count); i++, column += KEY_PANEL)
            *column = part[i];
    }
}

void head_pairs_put_value(uint32_t *page, size_t place, const float *value, size_t d_v)
{
    uint32_t *pairs = page + place / 2 * PAIR_COLUMNS;
    for (size_t first = 0; first < d_v; first += PAIR_COLUMNS, pairs += HEAD_PAIRS_APART)
        if (place % 2)
            bf16_put_second(pairs, value + first, columns_from(first, d_v));
        else
            bf16_pair_rows(pairs, value + first, none, columns_from(first, d_v));
}

void head_pairs_cut_values(uint32_t *page, size_t place, size_t d_v)
{
    uint32_t *panel = page;
    for (size_t first = 0; first < d_v; first += PAIR_COLUMNS, panel += HEAD_PAIRS_APART) {
        if (place % 2)
            bf16_put_second(panel + place / 2 * PAIR_COLUMNS, none, PAIR_COLUMNS);
        uint32_t *rest = panel + (place + 1) / 2 * PAIR_COLUMNS;
        memset(rest, 0, (size_t)(panel + HEAD_PAIRS_APART - rest) * sizeof *rest);
    }
}

void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k)
{
    for (size_t i = 0; i < d_k; i += 2, page += KEY_PANEL) {
        const float *row = panel + i * KEY_PANEL;
        bf16_pair_rows(page, row, i + 1 < d_k ? row + KEY_PANEL : none, KEY_PANEL);
    }
}

void head_pairs_fill_values(uint32_t *page, struct matrix values)
{
    size_t count = values.rows < KEY_PANEL ? values.rows : KEY_PANEL;
    head_pairs_cut_values(page, count / 2 * 2, values.columns);
    for (size_t row = 0; row < count; row += 2) {
        const float *value = values.data + row * values.stride;
        uint32_t *pairs = page + row / 2 * PAIR_COLUMNS;
        for (size_t i = 0; i < values.columns; i += PAIR_COLUMNS, pairs += HEAD_PAIRS_APART)
            bf16_pair_rows(pairs, value + i, row + 1 < count ? value + values.stride + i : none,
                           columns_from(i, values.columns));
    }
}
