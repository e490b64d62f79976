/* mutate.c: changes inputs at random: bytes, numbers of 1 to 8 bytes, runs of digits, values of
 * JSON, and parts that are removed, repeated, or copied from another input. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "math/rng.h"

enum { CHANGES_MAX = 4, PIECE_MAX = 64 };

struct mutant {
    struct fuzz_input *input;
    uint64_t seed, drawn;
};

static size_t draw(struct mutant *m, size_t limit)
{
    return limit ? (size_t)rng_below(m->seed, m->drawn++, limit) : 0;
}

/* Replace `size` bytes at `at` by others. */
static void put(struct mutant *m, size_t at, size_t size, const char *bytes, size_t count)
{
    struct fuzz_input *input = m->input;
    char *copy = malloc(input->size - size + count + 1);
    fuzz_check(copy, "memory for a copy");
    memcpy(copy, input->bytes, at);
    memcpy(copy + at, bytes, count);
    memcpy(copy + at + count, input->bytes + at + size, input->size - at - size);
    free(input->bytes);
    input->bytes = copy;
    input->size += count - size;
}

/* A number at the limits of types, or a random one. */
static uint64_t draw_number(struct mutant *m)
{
    static const uint64_t numbers[] = {
        0,     1,     2,     127,       128,        255,       256,
        32767, 65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX,
    };
    const size_t index = draw(m, 2 * sizeof numbers / sizeof *numbers);
    return index < sizeof numbers / sizeof *numbers ? numbers[index]
                                                    : rng_fold_in(m->seed, m->drawn++);
}

static void change_bytes(struct mutant *m)
{
    char bytes[8];
    const size_t size = (size_t)1 << draw(m, 4), at = draw(m, m->input->size);
    const uint64_t number = draw_number(m);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(number >> 8 * i);
    if (size <= m->input->size - at)
        put(m, at, size, bytes, size);
}

static void change_bit(struct mutant *m)
{
    const size_t at = draw(m, m->input->size);
    m->input->bytes[at] = (char)(m->input->bytes[at] ^ 1 << draw(m, 8));
}

/* Another number in place of a run of digits, of which a random byte is one. */
static void change_digits(struct mutant *m)
{
    static const char *const more[] = {"", "-", "1e", "0.", "99999999"};
    char text[48];
    size_t at = draw(m, m->input->size), size = 0;
    while (at < m->input->size && !isdigit((unsigned char)m->input->bytes[at]))
        at++;
    while (at + size < m->input->size && isdigit((unsigned char)m->input->bytes[at + size]))
        size++;
    if (!size)
        return;
    snprintf(text, sizeof text, "%s%llu", more[draw(m, 5)],
             (unsigned long long)(draw_number(m) >> 8 * draw(m, 8)));
    put(m, at, size, text, strlen(text));
}

/* The bytes of a value of JSON, from the blank after a random colon to the end of a line or a
 * comma. */
static size_t find_value(struct mutant *m, const struct fuzz_input *input, const char **value)
{
    const char *at = input->bytes + draw(m, input->size), *end = input->bytes + input->size;
    while (at < end && *at != ':')
        at++;
    *value = at < end ? at + 1 : NULL;
    for (at = *value; at && at < end && *at != ',' && *at != '\n';)
        at++;
    return *value ? (size_t)(at - *value) : 0;
}

static void change_value(struct mutant *m, const struct fuzz_input *other)
{
    static const char *const values[] = {
        "null", "true", "false", "0",  "-1",  "1",         "0.5", "16384",
        "1e30", "\"\"", "\"a\"", "[]", "[2]", "[[1],[2]]", "{}",  "{\"0\": [1]}",
    };
    const char *value, *given;
    const size_t size = find_value(m, m->input, &value);
    const size_t count = find_value(m, other, &given);
    const size_t kind = draw(m, 2 * sizeof values / sizeof *values);
    if (!value)
        return;
    if (kind < sizeof values / sizeof *values)
        put(m, (size_t)(value - m->input->bytes), size, values[kind], strlen(values[kind]));
    else if (given)
        put(m, (size_t)(value - m->input->bytes), size, given, count);
}

/* Remove a part, or put one of this or another input somewhere. */
static void change_part(struct mutant *m, const struct fuzz_input *other)
{
    const size_t at = draw(m, m->input->size);
    const size_t removed = draw(m, 2) ? draw(m, PIECE_MAX) : 0;
    const size_t from = draw(m, other->size), added = draw(m, 2) ? draw(m, PIECE_MAX) : 0;
    char *copy = malloc(PIECE_MAX);
    fuzz_check(copy, "memory for a copy");
    const size_t count = added < other->size - from ? added : other->size - from;
    memcpy(copy, other->bytes + from, count);
    put(m, at, removed < m->input->size - at ? removed : m->input->size - at, copy, count);
    free(copy);
}

void fuzz_mutate(struct fuzz_input *input, const struct fuzz_input *other, uint64_t seed)
{
    struct mutant mutant = {input, seed, 0};
    for (size_t left = 1 + draw(&mutant, CHANGES_MAX); left && input->size; left--) {
        const size_t kind = draw(&mutant, 6);
        if (kind == 0)
            change_bit(&mutant);
        else if (kind == 1 || !other->size)
            change_bytes(&mutant);
        else if (kind == 2)
            change_digits(&mutant);
        else if (kind <= 4)
            change_value(&mutant, other);
        else
            change_part(&mutant, other);
    }
}
