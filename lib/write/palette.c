/* palette.c: colours, palettes, and the mapping of numbers to colours. */
#include "write/style.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/names.h"

/* --- colours ---------------------------------------------------------------------------------- */

struct colour colour_of_hex(uint32_t hex)
{
    return (struct colour){(uint8_t)(hex >> 16), (uint8_t)(hex >> 8), (uint8_t)hex};
}

/* light_of converts an sRGB byte to linear light; byte_of converts back. */
static float light_of(uint8_t byte)
{
    float value = (float)byte / 255;
    return value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
}

static uint8_t byte_of(float light)
{
    float bounded = fminf(fmaxf(light, 0), 1);
    float value =
        bounded <= 0.0031308f ? bounded * 12.92f : 1.055f * powf(bounded, 1 / 2.4f) - 0.055f;
    return (uint8_t)lroundf(255 * value);
}

/* Convert a colour to Oklab, with Björn Ottosson's matrices,
 * https://bottosson.github.io/posts/oklab/ (public domain). */
struct oklab oklab_of(struct colour colour)
{
    float red = light_of(colour.red), green = light_of(colour.green), blue = light_of(colour.blue);
    float l = cbrtf(0.4122214708f * red + 0.5363325363f * green + 0.0514459929f * blue);
    float m = cbrtf(0.2119034982f * red + 0.6806995451f * green + 0.1073969566f * blue);
    float s = cbrtf(0.0883024619f * red + 0.2817188376f * green + 0.6299787005f * blue);
    return (struct oklab){
        0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s,
        1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s,
        0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s,
    };
}

static float cube(float value)
{
    return value * value * value;
}

struct colour colour_of_oklab(struct oklab lab)
{
    float l = cube(lab.lightness + 0.3963377774f * lab.a + 0.2158037573f * lab.b);
    float m = cube(lab.lightness - 0.1055613458f * lab.a - 0.0638541728f * lab.b);
    float s = cube(lab.lightness - 0.0894841775f * lab.a - 1.2914855480f * lab.b);
    return (struct colour){
        byte_of(4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s),
        byte_of(-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s),
        byte_of(-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s),
    };
}

float oklab_distance(struct oklab a, struct oklab b)
{
    float lightness = a.lightness - b.lightness;
    float along_a = a.a - b.a, along_b = a.b - b.b;
    return sqrtf(lightness * lightness + along_a * along_a + along_b * along_b);
}

/* Choose black or white by the contrast ratio of WCAG: (lighter + 0.05) / (darker + 0.05). */
struct colour colour_ink(struct colour ground)
{
    float luminance = 0.2126f * light_of(ground.red) + 0.7152f * light_of(ground.green) +
                      0.0722f * light_of(ground.blue);
    float to_black = (luminance + 0.05f) / 0.05f, to_white = 1.05f / (luminance + 0.05f);
    return to_white > to_black ? colour_of_hex(0xffffff) : colour_of_hex(0x000000);
}

/* --- palettes --------------------------------------------------------------------------------- */

const struct palette palette_rows[] = {
    {"blues", "white to dark blue", false, {0xfbfdff, 0xb9d8f2, 0x5e9fd8, 0x1f5fae, 0x0a2558}},
    {"night",
     "black to light blue, for dark backgrounds",
     false,
     {0x12161d, 0x1b3a6b, 0x2a71c0, 0x79b6ea, 0xecf6ff}},
    {"greys", "white to black", false, {0xffffff, 0x111111}},
    {"viridis",
     "dark blue through green to yellow",
     false,
     {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c,
      0x1f9f88, 0x27ad81, 0x3dbc74, 0x5cc863, 0x81d34d, 0xaadc32, 0xd5e21a, 0xfde725}},
    {"blue-orange",
     "orange below 0, white at 0, blue above",
     true,
     {0x6f2d00, 0xd16d14, 0xf6bd8a, 0xfafafa, 0x9fcbee, 0x2f7fca, 0x0b3a7a}},
    {"dusk",
     "orange below 0, black at 0, blue above, for dark backgrounds",
     true,
     {0xffdcb8, 0xe0812e, 0x7c3d0c, 0x15171b, 0x1d4a86, 0x4f9be4, 0xc4e4ff}},
    {"purple-green",
     "purple below 0, white at 0, green above",
     true,
     {0x40104f, 0x8a55a3, 0xcbb2d8, 0xfafafa, 0xa9d8a6, 0x3f9650, 0x0a401d}},
};

const size_t palette_count = sizeof palette_rows / sizeof *palette_rows;

const struct palette *palette_find(const char *name)
{
    size_t index = 0;
    struct names names = NAMES(palette_rows, palette_count);
    return names_find(&index, names, name, strlen(name)) ? &palette_rows[index] : NULL;
}

/* Interpolate levels `low` to `high` between the stops `first` to `last`. */
static void fill(struct ramp *ramp, const struct palette *palette, size_t first, size_t last,
                 size_t low, size_t high)
{
    enum { STOPS = sizeof palette->stops / sizeof *palette->stops };
    struct oklab stops[STOPS];
    float lengths[STOPS];
    size_t count = last - first;
    float whole = 0;
    stops[0] = oklab_of(colour_of_hex(palette->stops[first]));
    for (size_t i = 0; i < count; i++) {
        stops[i + 1] = oklab_of(colour_of_hex(palette->stops[first + i + 1]));
        lengths[i] = oklab_distance(stops[i], stops[i + 1]);
        whole += lengths[i];
    }
    for (size_t level = low; level <= high; level++) {
        float along = whole * (float)(level - low) / (float)(high - low);
        size_t i = 0;
        while (i + 1 < count && along > lengths[i])
            along -= lengths[i++];
        float share = lengths[i] > 0 ? along / lengths[i] : 0;
        ramp->colours[level] = colour_of_oklab((struct oklab){
            stops[i].lightness + share * (stops[i + 1].lightness - stops[i].lightness),
            stops[i].a + share * (stops[i + 1].a - stops[i].a),
            stops[i].b + share * (stops[i + 1].b - stops[i].b),
        });
    }
}

void ramp_make(struct ramp *ramp, const struct palette *palette)
{
    size_t last = 1;
    size_t middle = RAMP_LEVELS / 2;
    memset(ramp, 0, sizeof *ramp);
    while (last + 1 < sizeof palette->stops / sizeof *palette->stops && palette->stops[last + 1])
        last++;
    if (!palette->two_sided) {
        fill(ramp, palette, 0, last, 1, RAMP_LEVELS - 1);
        return;
    }
    fill(ramp, palette, 0, last / 2, 1, middle);
    fill(ramp, palette, last / 2, last, middle, RAMP_LEVELS - 1);
}

/* The colour of a line, from Okabe and Ito's palette, which is safe for all kinds of colour
 * blindness; violet and grey replace yellow and black, which are too light and too heavy for lines.
 * If there are more than 8 lines, their hues are evenly spaced. */
struct colour palette_line(size_t index, size_t count)
{
    static const uint32_t few[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                   0xe69f00, 0x56b4e9, 0x7a4fbf, 0x6b6b6b};
    if (count <= sizeof few / sizeof *few)
        return colour_of_hex(few[index]);
    float turn = 6.2831853f * (float)index / (float)count;
    return colour_of_oklab((struct oklab){0.6f, 0.13f * cosf(turn), 0.13f * sinf(turn)});
}

/* --- ranges of numbers ------------------------------------------------------------------------ */

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

/* --- mapping numbers to colours --------------------------------------------------------------- */

/* Ratio of the highest number to the smallest that the log scale distinguishes. */
static const float LOG_STEPS = 1e4f;

struct extent norm_ends(const struct colour_norm *norm)
{
    struct extent extent = norm->extent;
    float most = fmaxf(-extent.low, extent.high);
    return norm->two_sided ? (struct extent){-most, most}
                           : (struct extent){fminf(extent.low, 0), extent.high};
}

/* Apply the scale to a number, which is clamped to the range from `low` to `high`. The result is
 * from 0 to 1. */
static float bend(enum style_scale scale, float value, float low, float high)
{
    float share = high > low ? fminf(fmaxf((value - low) / (high - low), 0), 1) : 0;
    return scale == COLOURS_SQRT  ? sqrtf(share)
           : scale == COLOURS_LOG ? log1pf(LOG_STEPS * share) / log1pf(LOG_STEPS)
                                  : share;
}

float norm_share(const struct colour_norm *norm, float value)
{
    struct extent ends = norm_ends(norm);
    if (!norm->two_sided)
        return bend(norm->scale, value, ends.low, ends.high);
    float share = bend(norm->scale, fabsf(value), 0, ends.high) / 2;
    return value < 0 ? 0.5f - share : 0.5f + share;
}

unsigned norm_level(const struct colour_norm *norm, float value)
{
    return isfinite(value) ? 1 + (unsigned)lroundf((RAMP_LEVELS - 2) * norm_share(norm, value)) : 0;
}

struct colour_norms norms_of(struct extent extent, bool fraction, const struct style *style,
                             bool dark)
{
    /* default palettes, by [two_sided][dark] */
    static const char *const usual[2][2] = {{"blues", "night"}, {"blue-orange", "dusk"}};
    bool whole = fraction && !style->range_given && extent.low >= 0 && extent.high <= 1;
    struct extent range = style_has_bounds(style) ? style->bounds
                          : whole                 ? (struct extent){0, 1}
                                                  : extent;
    bool two_sided =
        style->palette ? style->palette->two_sided : style->two_sided || extent.low < 0;
    return (struct colour_norms){
        .range = style->range,
        .palette = style->palette ? style->palette : palette_find(usual[two_sided][dark]),
        .whole = {style->scale, two_sided, range},
        .found = extent,
    };
}

struct colour_norms norms_make(const struct sheet *sheets, size_t count, const struct style *style)
{
    struct extent extent = nothing;
    for (size_t i = 0; i < count; i++)
        extent = extent_join(extent, extent_of_sheet(&sheets[i]));
    return norms_of(extent, count && sheets->display.fraction, style, false);
}

struct colour_norm norm_of_sheet(const struct colour_norms *norms, const struct sheet *sheet)
{
    struct colour_norm norm = norms->whole;
    if (norms->range != RANGE_ALL)
        norm.extent = extent_of_sheet(sheet);
    return norm;
}

struct colour_norm norm_of_row(const struct colour_norms *norms, const struct sheet *sheet,
                               size_t row)
{
    struct colour_norm norm = norms->whole;
    if (norms->range != RANGE_ROW)
        return norm_of_sheet(norms, sheet);
    norm.extent = extent_of_row(sheet, row);
    return norm;
}

const char *norms_beyond(const struct colour_norms *norms, bool high)
{
    struct extent ends = norm_ends(&norms->whole);
    if (high)
        return norms->found.high > ends.high ? "≥ " : "";
    return norms->found.low < ends.low ? "≤ " : "";
}
