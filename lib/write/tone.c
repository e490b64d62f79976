#include "write/style.h"

#include <float.h>
#include <math.h>

/* How far log lifts: what is so much smaller than the highest is all but nothing. */
static const float LOG_STEPS = 1e4f;

static const struct extent nothing = {FLT_MAX, -FLT_MAX};

static struct extent extent_of_row(const struct sheet *sheet, size_t row)
{
    struct extent extent = nothing;
    for (size_t c = 0; c < sheet->columns.size; c++) {
        float value = sheet_cell(sheet, row, c);
        if (!isfinite(value) || sheet_hides(sheet, row, c))
            continue;
        extent.low = fminf(extent.low, value);
        extent.high = fmaxf(extent.high, value);
    }
    return extent;
}

struct extent extent_join(struct extent a, struct extent b)
{
    return (struct extent){fminf(a.low, b.low), fmaxf(a.high, b.high)};
}

struct extent extent_of_sheet(const struct sheet *sheet)
{
    struct extent extent = nothing;
    for (size_t row = 0; row < sheet->rows.size; row++)
        extent = extent_join(extent, extent_of_row(sheet, row));
    return extent;
}

/* From 0 to 1, both of which stay. */
static float bend(enum style_scale scale, float share)
{
    switch (scale) {
    case COLOURS_LINEAR:
        break;
    case COLOURS_SQRT:
        return sqrtf(share);
    case COLOURS_LOG:
        return log1pf(LOG_STEPS * share) / log1pf(LOG_STEPS);
    }
    return share;
}

static float share_between(float value, float low, float high)
{
    if (high <= low)
        return 0;
    return fminf(fmaxf((value - low) / (high - low), 0), 1);
}

struct extent tone_ends(const struct tone *tone)
{
    struct extent extent = tone->extent;
    float most = fmaxf(-extent.low, extent.high);
    return tone->two_sided ? (struct extent){-most, most}
                           : (struct extent){fminf(extent.low, 0), extent.high};
}

float tone_share(const struct tone *tone, float value)
{
    struct extent ends = tone_ends(tone);
    if (!tone->two_sided)
        return bend(tone->scale, share_between(value, ends.low, ends.high));
    float share = bend(tone->scale, share_between(fabsf(value), 0, ends.high)) / 2;
    return value < 0 ? 0.5f - share : 0.5f + share;
}

unsigned tone_level(const struct tone *tone, float value)
{
    if (!isfinite(value))
        return 0;
    return 1 + (unsigned)lroundf((RAMP_LEVELS - 2) * tone_share(tone, value));
}

struct tones tones_of(struct extent extent, bool fraction, const struct style *style, bool dark)
{
    bool whole = fraction && !style->range_given && extent.low >= 0 && extent.high <= 1;
    struct extent range = style_has_bounds(style) ? style->bounds
                          : whole                 ? (struct extent){0, 1}
                                                  : extent;
    bool two_sided =
        style->palette ? style->palette->two_sided : style->two_sided || extent.low < 0;
    return (struct tones){
        .range = style->range,
        .palette = style->palette ? style->palette : palette_default(two_sided, dark),
        .whole = {style->scale, two_sided, range},
        .found = extent,
    };
}

struct tones tones_make(const struct sheet *sheets, size_t count, const struct style *style,
                        bool dark)
{
    struct extent extent = nothing;
    for (size_t i = 0; i < count; i++)
        extent = extent_join(extent, extent_of_sheet(&sheets[i]));
    return tones_of(extent, count && sheets->fraction, style, dark);
}

static struct tone tone_for(const struct tones *tones, struct extent extent)
{
    struct tone tone = tones->whole;
    tone.extent = extent;
    return tone;
}

struct tone tone_of_sheet(const struct tones *tones, const struct sheet *sheet)
{
    return tones->range == RANGE_ALL ? tones->whole : tone_for(tones, extent_of_sheet(sheet));
}

struct tone tone_of_row(const struct tones *tones, const struct sheet *sheet, size_t row)
{
    return tones->range == RANGE_ROW ? tone_for(tones, extent_of_row(sheet, row))
                                     : tone_of_sheet(tones, sheet);
}

const char *tones_below(const struct tones *tones)
{
    return tones->found.low < tone_ends(&tones->whole).low ? "≤ " : "";
}

const char *tones_above(const struct tones *tones)
{
    return tones->found.high > tone_ends(&tones->whole).high ? "≥ " : "";
}
