#include "arrow_reader.h"

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "write/csv.h"

enum { COLUMNS_MAX = 16 };

/* A table of a FlatBuffer that begins at `base`. */
struct flat {
    const char *base, *end, *at;
};

struct column {
    int type, width; /* Type of Schema.fbs; bits */
};

static uint64_t number(const struct flat *flat, const char *at, size_t size)
{
    uint64_t value = 0;
    ck_assert(at >= flat->base && (size_t)(flat->end - at) >= size);
    ck_assert_uint_eq((size_t)(at - flat->base) % size, 0); /* what a verifier wants */
    memcpy(&value, at, size);
    return value;
}

/* Where a field stands, NULL: it is absent. */
static const char *field(const struct flat *table, unsigned id, size_t size)
{
    const char *list = table->at - (int32_t)number(table, table->at, 4);
    size_t list_size = number(table, list, 2);
    size_t place = 4 + 2 * (size_t)id < list_size ? number(table, list + 4 + 2 * id, 2) : 0;
    ck_assert_uint_le(place ? place + size : 0, number(table, list + 2, 2));
    return place ? table->at + place : NULL;
}

static uint64_t get(const struct flat *table, unsigned id, size_t size)
{
    const char *at = field(table, id, size);
    return at ? number(table, at, size) : 0;
}

/* What an offset leads to. */
static struct flat follow(const struct flat *flat, const char *at)
{
    ck_assert_ptr_nonnull(at);
    return (struct flat){flat->base, flat->end, at + number(flat, at, 4)};
}

static struct flat child(const struct flat *table, unsigned id)
{
    return follow(table, field(table, id, 4));
}

static size_t count_of(const struct flat *vector)
{
    return number(vector, vector->at, 4);
}

/* Columns of a Schema, and their names as the first line. */
static size_t read_schema(struct column *columns, struct buf *csv, const struct flat *schema)
{
    struct flat fields = child(schema, 1);
    size_t count = count_of(&fields);
    ck_assert_uint_eq(get(schema, 0, 2), 0); /* little */
    ck_assert_uint_le(count, COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct flat column = follow(&fields, fields.at + 4 + 4 * i);
        struct flat name = child(&column, 0);
        struct flat type = child(&column, 3);
        struct flat children = child(&column, 5);
        size_t size = count_of(&name);
        columns[i].type = (int)get(&column, 2, 1);
        columns[i].width = columns[i].type == 2 ? (int)get(&type, 0, 4) : 32;
        ck_assert_uint_eq(count_of(&children), 0);
        ck_assert_int_eq(name.at[4 + size], 0);
        ck_assert(columns[i].type != 2 || get(&type, 1, 1) == 1); /* signed */
        ck_assert(columns[i].type != 3 || get(&type, 0, 2) == 1); /* single */
        buf_text(csv, i ? "," : "");
        buf_bytes(csv, name.at + 4, size);
    }
    buf_char(csv, '\n');
    return count;
}

/* The message that begins with 0xffffffff and its size; what follows it is its body. */
static struct flat read_message(const char **body, const char *at, const char *end, int header)
{
    uint32_t words[2];
    ck_assert_int_ge(end - at, 8);
    memcpy(words, at, sizeof words);
    ck_assert_uint_eq(words[0], UINT32_MAX);
    ck_assert_uint_eq(words[1] % 8, 0);
    *body = at + 8 + words[1];
    ck_assert(*body <= end);
    struct flat root = {at + 8, *body, at + 8};
    struct flat message = follow(&root, root.at);
    ck_assert_uint_eq(get(&message, 0, 2), 4); /* version 5 */
    ck_assert_int_eq((int)get(&message, 1, 1), header);
    return message;
}

struct buffers {
    const char *valid, *offsets, *values;
};

static void write_cell(struct buf *csv, const struct column *column, const struct buffers *from,
                       size_t row)
{
    char text[NUM_FLOAT_BYTES] = "";
    int32_t ends[2];
    int32_t small = 0;
    int64_t large = 0;
    float real = 0;
    if (from->valid && !(from->valid[row / 8] >> row % 8 & 1))
        return;
    if (column->type == 5) {
        memcpy(ends, from->offsets + row * sizeof *ends, sizeof ends);
        char *copy = strndup(from->values + ends[0], (size_t)(ends[1] - ends[0]));
        csv_field(csv, copy);
        free(copy);
    } else if (column->type == 3) {
        memcpy(&real, from->values + row * sizeof real, sizeof real);
        num_float(text, real);
        buf_text(csv, text);
    } else if (column->width == 64) {
        memcpy(&large, from->values + row * sizeof large, sizeof large);
        buf_format(csv, "%" PRId64, large);
    } else {
        memcpy(&small, from->values + row * sizeof small, sizeof small);
        buf_format(csv, "%" PRId32, small);
    }
}

/* The next of a batch's Buffers; NULL: it is empty. */
static const char *next_buffer(const struct flat *places, size_t *index, const char *body,
                               size_t size, size_t least)
{
    const char *at = places->at + 4 + 16 * (*index)++;
    uint64_t offset = number(places, at, 8);
    uint64_t length = number(places, at + 8, 8);
    ck_assert_uint_eq(offset % 8, 0);
    ck_assert_uint_le(offset + length, size);
    ck_assert(length == 0 || length >= least);
    return length ? body + offset : NULL;
}

static void read_batch(struct buf *csv, const struct column *columns, size_t count,
                       const struct flat *message, const char *body)
{
    struct flat batch = child(message, 2);
    struct flat nodes = child(&batch, 1);
    struct flat places = child(&batch, 2);
    struct buffers buffers[COLUMNS_MAX];
    size_t rows = get(&batch, 0, 8);
    size_t size = get(message, 3, 8);
    size_t used = 0;
    ck_assert_uint_eq(count_of(&nodes), count);
    for (size_t i = 0; i < count; i++) {
        bool of_text = columns[i].type == 5;
        size_t least = of_text ? 0 : rows * (size_t)columns[i].width / 8;
        size_t nulls = number(&nodes, nodes.at + 4 + 16 * i + 8, 8);
        ck_assert_uint_eq(number(&nodes, nodes.at + 4 + 16 * i, 8), rows);
        buffers[i].valid = next_buffer(&places, &used, body, size, (rows + 7) / 8);
        ck_assert(!nulls == !buffers[i].valid);
        for (size_t row = 0; row < rows && nulls; row++)
            nulls -= !(buffers[i].valid[row / 8] >> row % 8 & 1);
        ck_assert_uint_eq(nulls, 0);
        buffers[i].offsets =
            of_text ? next_buffer(&places, &used, body, size, 4 * (rows + 1)) : NULL;
        buffers[i].values = next_buffer(&places, &used, body, size, least);
    }
    ck_assert_uint_eq(count_of(&places), used);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++) {
            buf_text(csv, i ? "," : "");
            write_cell(csv, &columns[i], &buffers[i], row);
            buf_text(csv, i + 1 == count ? "\n" : "");
        }
}

/* By its footer, as readers do; and each message is where the one before it ends. */
size_t arrow_reader_csv(struct buf *csv, const char *bytes, size_t size)
{
    struct column columns[COLUMNS_MAX];
    struct buf again = {0};
    const char *end = bytes + size;
    const char *body = NULL;
    uint32_t footer_size = 0;
    uint32_t ending[2];
    ck_assert_uint_gt(size, 24);
    ck_assert_mem_eq(bytes, "ARROW1\0", 8);
    ck_assert_mem_eq(end - 6, "ARROW1", 6);
    memcpy(&footer_size, end - 10, sizeof footer_size);
    struct flat root = {end - 10 - footer_size, end - 10, end - 10 - footer_size};
    ck_assert_uint_eq((size_t)(root.base - bytes) % 8, 0);
    struct flat footer = follow(&root, root.at);
    struct flat schema = child(&footer, 1);
    struct flat blocks = child(&footer, 3);
    ck_assert_uint_eq(get(&footer, 0, 2), 4);
    size_t count = read_schema(columns, csv, &schema);
    struct flat message = read_message(&body, bytes + 8, end, 1);
    schema = child(&message, 2);
    ck_assert_uint_eq(read_schema(columns, &again, &schema), count);
    ck_assert_str_eq(again.bytes, csv->bytes);
    for (size_t i = 0; i < count_of(&blocks); i++) {
        const char *block = blocks.at + 4 + 24 * i;
        const char *at = bytes + number(&blocks, block, 8);
        ck_assert_ptr_eq(at, body);
        message = read_message(&body, at, end, 3);
        ck_assert_uint_eq(number(&blocks, block + 8, 4), (size_t)(body - at));
        ck_assert_uint_eq(number(&blocks, block + 16, 8), get(&message, 3, 8));
        read_batch(csv, columns, count, &message, body);
        body += get(&message, 3, 8);
    }
    memcpy(ending, body, sizeof ending);
    ck_assert_uint_eq(ending[0], UINT32_MAX);
    ck_assert_uint_eq(ending[1], 0);
    ck_assert_ptr_eq(body + 8, root.base);
    buf_release(&again);
    return count_of(&blocks);
}
