#include "reference_rotary.h"

#include <math.h>

static const long double turn = 6.283185307179586476925286766559L;

static long double ratio(size_t a, size_t b)
{
    return (long double)a / (long double)b;
}

static long double plain(const struct rotary *r, size_t pair)
{
    return powl(r->theta, -2 * ratio(pair, r->components));
}

static long double dynamic(const struct rotary *r, size_t pair, size_t length)
{
    long double n = fmaxl((long double)length, r->positions);
    long double growth = r->factor * n / r->positions - (r->factor - 1);
    long double theta = r->theta * powl(growth, ratio(r->components, r->components - 2));
    return powl(theta, -2 * ratio(pair, r->components));
}

static long double llama3(const struct rotary *r, size_t pair)
{
    long double f = plain(r, pair);
    long double wave = turn / f;
    long double share =
        (r->trained_positions / wave - r->low_frequency) / (r->high_frequency - r->low_frequency);
    if (wave > r->trained_positions / r->low_frequency)
        return f / r->factor;
    if (wave < r->trained_positions / r->high_frequency)
        return f;
    return (1 - share) * f / r->factor + share * f;
}

static long double yarn_dimension(const struct rotary *r, long double turns)
{
    return (long double)r->components * logl(r->trained_positions / (turn * turns)) /
           (2 * logl(r->theta));
}

static long double yarn(const struct rotary *r, size_t pair)
{
    long double low = fmaxl(floorl(yarn_dimension(r, r->fast)), 0);
    long double high = fminl(ceill(yarn_dimension(r, r->slow)), (long double)r->components - 1);
    long double wide = high == low ? 0.001L : high - low;
    long double ramp = fminl(fmaxl(((long double)pair - low) / wide, 0), 1);
    return plain(r, pair) * (1 - ramp) + plain(r, pair) / r->factor * ramp;
}

long double reference_frequency(const struct rotary *r, size_t pair, size_t length)
{
    switch (r->scaling) {
    case ROTARY_PLAIN:
        return plain(r, pair);
    case ROTARY_LINEAR:
        return plain(r, pair) / r->factor;
    case ROTARY_DYNAMIC:
        return dynamic(r, pair, length);
    case ROTARY_LLAMA3:
        return llama3(r, pair);
    case ROTARY_YARN:
        return yarn(r, pair);
    case ROTARY_PROPORTIONAL:
        return pair < r->turning ? plain(r, pair) / r->factor : 0;
    case ROTARY_LONGROPE:
        break;
    }
    bool longer = (double)length > r->trained_positions;
    return plain(r, pair) / (longer ? r->long_factors : r->short_factors)[pair];
}

long double reference_amplitude(const struct rotary *r)
{
    if (r->scaling == ROTARY_YARN)
        return r->amplitude > 0 ? (long double)r->amplitude : 0.1L * logl(r->factor) + 1;
    if (r->scaling == ROTARY_LONGROPE)
        return sqrtl(1 + logl(r->positions / r->trained_positions) / logl(r->trained_positions));
    return 1;
}
