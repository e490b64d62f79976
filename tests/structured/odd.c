#include "odd.h"

#include <string.h>

#include "../unit/rigs/dice.h"

static const char *const integers[] = {
    "0",     "1",     "2",          "3",          "4",          "7",
    "8",     "16",    "64",         "255",        "256",        "1000",
    "4096",  "65535", "65536",      "1000000",    "16777217",   "2147483647",
    "-1",    "-2",    "2147483648", "4294967295", "4294967296", "9007199254740991",
    "-0",    "100",   "12",         "6",          "5",          "9223372036854775807",
    "32768", "1024",  "999999999",  "10",         "-2147483648"};

static const char *const fractions[] = {
    "-0.0",     "0.0",         "1.0",    "1e0",    "1E+2",     "0.5",
    "1e-45",    "1.4e-45",     "5e-324", "1e-38",  "1e-39",    "1e38",
    "-1e38",    "1e39",        "1e308",  "1e-308", "1e-400",   "0.1",
    "-1e-45",   "1e-5",        "1e-12",  "1e10",   "-1e10",    "3.4028234663852886e38",
    "1e400",    "2.5",         "1e16",   "-0.1e1", "1.000001", "0.9999",
    "1e-30000", "3.4028235e38"};

static const char *const texts[] = {
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "a\nb",
    "a\r\nb",
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x7f",
    "\xc2\x9b"
    "31m",
    "\xe2\x80\xae"
    "abc",
    "e\xcc\x81",
    "\xc3\xa9",
    "\xe6\x88\x91\xe7\x88\xb1",
    "\xef\xbb\xbf",
    "\xe2\x80\x8b",
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9",
    "\xef\xbf\xbf",
    "\xf4\x8f\xbf\xbf",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "journal",
    "manifest.json",
    "results.jsonl",
    "sums",
    ".",
    "..",
    "./a",
    "../above",
    "mine",
    "mine/keep",
    "../mine/keep",
    "out",
    "a/b",
    "a//b",
    "a/",
    "a/../b",
    "wait..what",
    "-",
    "--force",
    "--help",
    "--output=mine/keep",
    "--threads",
    "a b",
    "'",
    "\"",
    "\\",
    "a,b",
    "%s%n%d",
    "$(x)",
    "*",
    "~",
    "null",
    "true",
    "0",
    "-1",
    "1e5",
    "0000",
    "0001",
    "life",
    "tiny",
    "model",
    "id",
    "all",
    "sentence",
    "<",
    ">",
    "|",
    "#",
    "=",
    "<x",
    "<|endoftext|>",
    "<unk>",
    "[UNK]",
    "\xc4\xa0",
    "\xc4\xa0"
    "a",
    "aa",
    "gpt2",
    "attention",
    "transformer",
    "gelu",
    "relu",
    "-0",
    "1e38",
    "dense",
    "window:1",
    "csv",
    "html",
    "0-",
    "0,0",
    "-1--1",
};

const char *odd_integer(struct made *made)
{
    return MADE_PICK(made, integers);
}

const char *odd_number(struct made *made)
{
    return made_one_in(made, 2) ? MADE_PICK(made, integers) : MADE_PICK(made, fractions);
}

/* One text again and again, up to so many bytes. */
static const char *lengthen(struct made *made, const char *text)
{
    static const size_t lengths[] = {180, 255, 256, 300, 1000, 4096, 5000, 70000};
    size_t size = strlen(text);
    size_t times = MADE_PICK(made, lengths) / size;
    char *room = made_memory(arena_alloc(&made->arena, times * size + 1, 1, NULL));
    for (size_t i = 0; i < times; i++)
        memcpy(room + i * size, text, size);
    return room;
}

/* What is made longer must not lead further up when it stands there twice, and be no list of more
 * ids than attention has time for. */
const char *odd_text(struct made *made)
{
    const char *text = MADE_PICK(made, texts);
    if (!*text || strpbrk(text, ".,") || !made_one_in(made, 5))
        return text;
    return lengthen(made, text);
}

uint32_t odd_float(struct made *made)
{
    static const uint32_t bits[] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
        0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x7e967699, 0xfe967699, 0x006ce3ee,
        0x5f3759df, 0x1f800000, 0x33800000, 0x4b800000, 0x4f000000, 0x42b17218, 0xc2cff1b4};
    static const uint32_t not_finite[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff};
    if (made_one_in(made, 40))
        return MADE_PICK(made, not_finite);
    return made_one_in(made, 4) ? dice_bits(&made->dice) & 0xbf7fffff : MADE_PICK(made, bits);
}

uint16_t odd_half(struct made *made)
{
    static const uint16_t bits[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff, 0x0400,
                                    0x7bff, 0xfbff, 0x3c00, 0xbc00, 0x7c00, 0xfe00};
    return MADE_PICK(made, bits);
}

uint16_t odd_bf16(struct made *made)
{
    return (uint16_t)(odd_float(made) >> 16);
}
