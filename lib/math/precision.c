#include "math/precision.h"

#include "base/names.h"
#include "math/isa.h"

static const char *const names[PRECISIONS] = {"f32", "bf16"};

const char *precision_name(enum precision precision)
{
    return names[precision];
}

int precision_choose(enum precision *precision, const char *name, struct err *err)
{
    size_t index = (size_t)*precision;
    if (names_choose(&index, NAMES_LIST(names), "--precision", name, err))
        return -1;
    *precision = (enum precision)index;
    return 0;
}

static inline uint32_t pair_of(float first, float second)
{
    return bf16_round(first) | (uint32_t)bf16_round(second) << 16;
}

FOR_EACH_ISA
void bf16_pair_row(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = pair_of(row[2 * i], row[2 * i + 1]);
    if (count % 2)
        pairs[count / 2] = pair_of(row[count - 1], 0);
}

FOR_EACH_ISA
void bf16_pair_rows(uint32_t *restrict pairs, const float *restrict first,
                    const float *restrict second, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = pair_of(first[i], second[i]);
}

FOR_EACH_ISA
void bf16_put_second(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = (pairs[i] & 0xffff) | (uint32_t)bf16_round(row[i]) << 16;
}
