#include "write/palette.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/names.h"

const struct palette palette_rows[] = {
    {"blues",
     "from white to dark blue",
     false,
     5,
     {0xfbfdff, 0xb9d8f2, 0x5e9fd8, 0x1f5fae, 0x0a2558}},
    {"night",
     "the same on a dark ground: from black to light blue",
     false,
     5,
     {0x12161d, 0x1b3a6b, 0x2a71c0, 0x79b6ea, 0xecf6ff}},
    {"greys", "from white to black", false, 2, {0xffffff, 0x111111}},
    {"viridis",
     "from dark blue over green to yellow",
     false,
     17,
     {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c,
      0x1f9f88, 0x27ad81, 0x3dbc74, 0x5cc863, 0x81d34d, 0xaadc32, 0xd5e21a, 0xfde725}},
    {"blue-orange",
     "blue below 0, white, orange above",
     true,
     7,
     {0x0b3a7a, 0x2f7fca, 0x9fcbee, 0xfafafa, 0xf6bd8a, 0xd16d14, 0x6f2d00}},
    {"dusk",
     "the same on a dark ground: blue, black, orange",
     true,
     7,
     {0xc4e4ff, 0x4f9be4, 0x1d4a86, 0x15171b, 0x7c3d0c, 0xe0812e, 0xffdcb8}},
    {"purple-green",
     "purple below 0, white, green above",
     true,
     7,
     {0x40104f, 0x8a55a3, 0xcbb2d8, 0xfafafa, 0xa9d8a6, 0x3f9650, 0x0a401d}},
};

const size_t palette_count = sizeof palette_rows / sizeof *palette_rows;

const struct palette *palette_find(const char *name)
{
    size_t index = 0;
    struct names names = NAMES(palette_rows, palette_count);
    return names_find(&index, names, name, strlen(name)) ? &palette_rows[index] : NULL;
}

const struct palette *palette_default(bool two_sided, bool dark)
{
    static const char *const names[2][2] = {{"blues", "night"}, {"blue-orange", "dusk"}};
    return palette_find(names[two_sided][dark]);
}

/* A stretch of the way between two stops. */
struct leg {
    struct oklab from, to;
    float length;
};

static struct oklab place_on(const struct leg *leg, float along)
{
    float share = leg->length > 0 ? along / leg->length : 0;
    return (struct oklab){
        leg->from.lightness + share * (leg->to.lightness - leg->from.lightness),
        leg->from.a + share * (leg->to.a - leg->from.a),
        leg->from.b + share * (leg->to.b - leg->from.b),
    };
}

/* Walk stops `first` to `last` in even steps, into levels `low` to `high`. */
static void walk(struct ramp *ramp, const struct palette *palette, size_t first, size_t last,
                 size_t low, size_t high)
{
    struct leg legs[sizeof palette->stops / sizeof *palette->stops];
    size_t count = last - first;
    float whole = 0;
    for (size_t i = 0; i < count; i++) {
        legs[i].from = oklab_of(colour_of_hex(palette->stops[first + i]));
        legs[i].to = oklab_of(colour_of_hex(palette->stops[first + i + 1]));
        legs[i].length = oklab_distance(legs[i].from, legs[i].to);
        whole += legs[i].length;
    }
    for (size_t level = low; level <= high; level++) {
        float along = whole * (float)(level - low) / (float)(high - low);
        size_t i = 0;
        while (i + 1 < count && along > legs[i].length)
            along -= legs[i++].length;
        ramp->colours[level] = colour_of_oklab(place_on(&legs[i], along));
    }
}

void ramp_make(struct ramp *ramp, const struct palette *palette)
{
    size_t last = palette->stop_count - 1;
    size_t middle = RAMP_LEVELS / 2;
    memset(ramp, 0, sizeof *ramp);
    assert(last > 0);
    if (!palette->two_sided) {
        walk(ramp, palette, 0, last, 1, RAMP_LEVELS - 1);
        return;
    }
    walk(ramp, palette, 0, last / 2, 1, middle);
    walk(ramp, palette, last / 2, last, middle, RAMP_LEVELS - 1);
}

/* Okabe and Ito's, which no kind of colour-blindness confuses; without yellow and black, which are
 * too light and too heavy for lines. */
static const uint32_t few[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                               0xe69f00, 0x56b4e9, 0x7a4fbf, 0x6b6b6b};
static const size_t few_count = sizeof few / sizeof *few;

struct colour palette_line(size_t index, size_t count)
{
    if (count <= few_count)
        return colour_of_hex(few[index]);
    float turn = 6.2831853f * (float)index / (float)count;
    return colour_of_oklab((struct oklab){0.6f, 0.13f * cosf(turn), 0.13f * sinf(turn)});
}
