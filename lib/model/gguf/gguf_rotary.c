/* gguf_rotary.c: Llama 3's turning in a GGUF file. llama.cpp has a factor for each pair, rounded to
 * float32, and not the numbers that the factors are of. So that no bit is lost these stand beside
 * them, under a key of our own, which other programs pass over. */
#include <stdint.h>

#include "base/buf.h"
#include "math/rotary.h"
#include "model/gguf/gguf_model.h"

static const char llama3_key[] = "attn_cli.rope_scaling.llama3";

enum { FACTOR, LOW, HIGH, TRAINED, NUMBERS }; /* items of the array */

void gguf_factors(float *factors, const struct rotary *rotary)
{
    struct rotary plain = {.components = rotary->components, .theta = rotary->theta};
    for (size_t i = 0; i < rotary->components / 2; i++)
        factors[i] = (float)(rotary_frequency(&plain, i, 1) / rotary_frequency(rotary, i, 1));
}

int gguf_put_llama3(struct gguf *gguf, const struct rotary *rotary, struct err *err)
{
    const double numbers[NUMBERS] = {
        [FACTOR] = rotary->factor,
        [LOW] = rotary->low_frequency,
        [HIGH] = rotary->high_frequency,
        [TRAINED] = rotary->trained_positions,
    };
    struct buf items = {0};
    buf_bytes(&items, (const char *)numbers, sizeof numbers);
    int failed = gguf_put_array(gguf, llama3_key, GGUF_F64, NUMBERS, &items, err);
    buf_release(&items);
    return failed;
}

int gguf_read_llama3(struct rotary *rotary, const struct gguf *gguf, const float *factors,
                     struct err *err)
{
    const struct gguf_value *array = NULL;
    double numbers[NUMBERS];
    float made[ROTARY_PAIRS_MAX];
    rotary->scaling = ROTARY_PLAIN;
    if (gguf_array(gguf, llama3_key, GGUF_F64, &array, err))
        return -1;
    if (!array || array->count != NUMBERS || rotary->components / 2 > ROTARY_PAIRS_MAX)
        return 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        numbers[i] = gguf_item(array, i);
        if (!(numbers[i] >= 0 && numbers[i] <= INT32_MAX))
            return 0;
    }
    rotary->factor = numbers[FACTOR];
    rotary->low_frequency = numbers[LOW];
    rotary->high_frequency = numbers[HIGH];
    rotary->trained_positions = numbers[TRAINED];
    rotary->scaling = ROTARY_LLAMA3;
    gguf_factors(made, rotary);
    for (size_t i = 0; i < rotary->components / 2; i++)
        if (made[i] != factors[i])
            rotary->scaling = ROTARY_PLAIN;
    return 0;
}
