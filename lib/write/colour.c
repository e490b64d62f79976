#include "write/colour.h"

#include <math.h>

struct colour colour_of_hex(uint32_t hex)
{
    return (struct colour){(uint8_t)(hex >> 16), (uint8_t)(hex >> 8), (uint8_t)hex};
}

/* What light a screen gives for a byte, and which byte gives that light. */
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

/* Björn Ottosson's matrices, https://bottosson.github.io/posts/oklab/ (public domain). */
struct oklab oklab_of(struct colour colour)
{
    float red = light_of(colour.red);
    float green = light_of(colour.green);
    float blue = light_of(colour.blue);
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
    float along_a = a.a - b.a;
    float along_b = a.b - b.b;
    return sqrtf(lightness * lightness + along_a * along_a + along_b * along_b);
}

/* The contrast of the web's guidelines: (lighter + 0.05) / (darker + 0.05). */
struct colour colour_ink(struct colour ground)
{
    float luminance = 0.2126f * light_of(ground.red) + 0.7152f * light_of(ground.green) +
                      0.0722f * light_of(ground.blue);
    float to_black = (luminance + 0.05f) / 0.05f;
    float to_white = 1.05f / (luminance + 0.05f);
    return to_white > to_black ? colour_of_hex(0xffffff) : colour_of_hex(0x000000);
}
