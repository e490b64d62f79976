#include "math/exact_sum.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    LIMB_BITS = 64,
    FLOAT_FRACTION = 23,
    FLOAT_EXPONENT = 0xff,
    DOUBLE_FRACTION = 52,
    DOUBLE_EXPONENT = 0x7ff,
    DOUBLE_SHIFT = -1075 + 149, /* from a double's last bit, at exponent 0, to units */
    UNIT = -149,
    DIGITS_OF_LIMB = 16,
};

static const char hex[] = "0123456789abcdef";

/* Add or subtract mantissa · 2^shift units. */
static void add_units(struct exact_sum *sum, uint64_t mantissa, unsigned shift, bool negative)
{
    unsigned limb = shift / LIMB_BITS;
    unsigned bits = shift % LIMB_BITS;
    uint64_t part = mantissa << bits;
    uint64_t next = bits ? mantissa >> (LIMB_BITS - bits) : 0;
    for (; limb < EXACT_SUM_LIMBS && (part || next); limb++) {
        uint64_t before = sum->limbs[limb];
        uint64_t after = negative ? before - part : before + part;
        bool carry = negative ? after > before : after < before;
        sum->limbs[limb] = after;
        part = next + carry; /* never overflows: next has at most 63 bits */
        next = 0;
    }
}

void exact_sum_add(struct exact_sum *sum, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> FLOAT_FRACTION & FLOAT_EXPONENT;
    uint32_t fraction = bits & ((1u << FLOAT_FRACTION) - 1);
    assert(exponent != FLOAT_EXPONENT);
    if (exponent) /* else it is subnormal: units as they are */
        fraction |= 1u << FLOAT_FRACTION;
    add_units(sum, fraction, exponent ? exponent - 1 : 0, bits >> 31);
}

void exact_sum_add_double(struct exact_sum *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> DOUBLE_FRACTION & DOUBLE_EXPONENT);
    uint64_t mantissa = (bits & (((uint64_t)1 << DOUBLE_FRACTION) - 1)) | (uint64_t)(exponent != 0)
                                                                              << DOUBLE_FRACTION;
    int shift = exponent + DOUBLE_SHIFT;
    assert(fabs(value) < 0x1p128);
    if (shift <= -LIMB_BITS)
        return;
    if (shift < 0)
        mantissa >>= -shift;
    add_units(sum, mantissa, shift > 0 ? (unsigned)shift : 0, bits >> 63);
}

void exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other)
{
    uint64_t carry = 0;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        uint64_t part = other->limbs[i] + carry;
        carry = part < carry; /* then part is 0 */
        sum->limbs[i] += part;
        carry += sum->limbs[i] < part;
    }
}

static bool is_negative(const struct exact_sum *sum)
{
    return sum->limbs[EXACT_SUM_LIMBS - 1] >> (LIMB_BITS - 1);
}

static struct exact_sum negated(const struct exact_sum *sum)
{
    struct exact_sum result;
    uint64_t carry = 1;
    for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
        result.limbs[i] = ~sum->limbs[i] + carry;
        carry = carry && result.limbs[i] == 0;
    }
    return result;
}

static struct exact_sum magnitude(const struct exact_sum *sum)
{
    return is_negative(sum) ? negated(sum) : *sum;
}

/* The 64 bits from the highest that is set, and a one at the end for any that is set below: what
 * rounds to the same double as the whole. `*low` is the place of their last bit. */
static uint64_t leading_bits(const struct exact_sum *sum, int *low)
{
    int top = EXACT_SUM_LIMBS - 1;
    while (top > 0 && sum->limbs[top] == 0)
        top--;
    uint64_t limb = sum->limbs[top];
    *low = top * LIMB_BITS;
    if (top == 0)
        return limb;
    int zeros = __builtin_clzll(limb);
    uint64_t below = sum->limbs[top - 1];
    uint64_t lost = zeros ? below << zeros : below;
    for (int i = top - 2; i >= 0; i--)
        lost |= sum->limbs[i];
    *low -= zeros;
    return limb << zeros | (zeros ? below >> (LIMB_BITS - zeros) : 0) | (lost != 0);
}

double exact_sum_value(const struct exact_sum *sum)
{
    struct exact_sum size = magnitude(sum);
    int low = 0;
    double value = (double)leading_bits(&size, &low);
    return ldexp(is_negative(sum) ? -value : value, low + UNIT);
}

size_t exact_sum_text(char text[EXACT_SUM_BYTES], const struct exact_sum *sum)
{
    struct exact_sum size = magnitude(sum);
    size_t length = 0;
    bool begun = false;
    if (is_negative(sum))
        text[length++] = '-';
    for (int digit = EXACT_SUM_LIMBS * DIGITS_OF_LIMB - 1; digit >= 0; digit--) {
        unsigned value = size.limbs[digit / DIGITS_OF_LIMB] >> (4 * (digit % DIGITS_OF_LIMB)) & 15;
        begun = begun || value || digit == 0;
        if (begun)
            text[length++] = hex[value];
    }
    text[length] = '\0';
    return length;
}

bool exact_sum_parse(struct exact_sum *sum, const char *text, size_t size)
{
    bool negative = size > 0 && text[0] == '-';
    struct exact_sum found = {0};
    const char *digits = text + negative;
    size_t count = size - negative;
    if (count == 0 || count > EXACT_SUM_LIMBS * DIGITS_OF_LIMB)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t place = count - 1 - i;
        const char *digit = memchr(hex, digits[i], sizeof hex - 1);
        if (!digit)
            return false;
        uint64_t value = (uint64_t)(digit - hex);
        found.limbs[place / DIGITS_OF_LIMB] |= value << (4 * (place % DIGITS_OF_LIMB));
    }
    *sum = negative ? negated(&found) : found;
    return true;
}
