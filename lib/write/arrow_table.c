#include "write/arrow_table.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "write/csv.h"
#include "write/flat_buffer.h"

enum {
    BATCH_ROWS = 1 << 16,       /* that wait at most … */
    BATCH_TEXT_BYTES = 1 << 24, /* … or so much of text, and one more */
    ALIGNMENT = FLAT_ALIGNMENT,
    VERSION_5 = 4, /* MetadataVersion */
};

enum header { HEADER_SCHEMA = 1, HEADER_BATCH = 3 };                /* MessageHeader */
enum type { TYPE_INT = 2, TYPE_FLOATING_POINT = 3, TYPE_UTF8 = 5 }; /* Type */

static const char magic[ALIGNMENT] = "ARROW1";

/* --- the forms -------------------------------------------------------------------------------- */

static void put_type(struct buf *buf, size_t from, enum arrow_type type)
{
    struct flat_field integer[] = {{4, type == ARROW_LONG ? 64 : 32}, {1, true}}; /* signed */
    struct flat_field single[] = {{2, 1}};                                        /* precision */
    if (type == ARROW_TEXT)
        flat_table(buf, from, NULL, 0);
    else if (type == ARROW_FLOAT)
        flat_table(buf, from, single, 1);
    else
        flat_table(buf, from, integer, 2);
}

static void put_column(struct buf *buf, size_t from, const struct arrow_column *column)
{
    static const enum type types[] = {TYPE_INT, TYPE_INT, TYPE_FLOATING_POINT, TYPE_UTF8};
    enum { NAME, NULLABLE, TYPE_TYPE, TYPE, DICTIONARY, CHILDREN, FIELDS };
    struct flat_field fields[FIELDS] = {[NAME] = {4},
                                        [NULLABLE] = {1, true},
                                        [TYPE_TYPE] = {1, types[column->type]},
                                        [TYPE] = {4},
                                        [CHILDREN] = {4}};
    flat_table(buf, from, fields, FIELDS);
    flat_string(buf, fields[NAME].at, column->name);
    put_type(buf, fields[TYPE].at, column->type);
    flat_vector(buf, fields[CHILDREN].at, 0);
}

static void put_schema(struct buf *buf, size_t from, const struct arrow_table *table)
{
    enum { ENDIANNESS, COLUMNS, FIELDS };
    struct flat_field fields[FIELDS] = {[ENDIANNESS] = {2}, [COLUMNS] = {4}}; /* little */
    flat_table(buf, from, fields, FIELDS);
    flat_vector(buf, fields[COLUMNS].at, table->column_count);
    size_t offsets = buf->size;
    buf_fill(buf, 0, table->column_count * sizeof(uint32_t));
    for (size_t i = 0; i < table->column_count; i++)
        put_column(buf, offsets + i * sizeof(uint32_t), &table->columns[i]);
}

/* A buffer begins with the offset to its table. */
static size_t begin_message(struct buf *buf, enum header header, uint64_t body_size)
{
    enum { VERSION, HEADER_TYPE, HEADER, BODY, FIELDS };
    struct flat_field fields[FIELDS] = {[VERSION] = {2, VERSION_5},
                                        [HEADER_TYPE] = {1, header},
                                        [HEADER] = {4},
                                        [BODY] = {8, body_size}};
    buf_number(buf, 0, sizeof(uint32_t));
    flat_table(buf, 0, fields, FIELDS);
    return fields[HEADER].at;
}

/* --- what is written -------------------------------------------------------------------------- */

static void send(struct arrow_table *table, const void *bytes, size_t size)
{
    stream_bytes(table->out, bytes, size);
    table->position += size;
}

static void send_aligned(struct arrow_table *table, const struct buf *buf)
{
    static const char zeros[ALIGNMENT] = {0};
    send(table, buf->bytes ? buf->bytes : "", buf->size);
    send(table, zeros, (ALIGNMENT - buf->size % ALIGNMENT) % ALIGNMENT);
}

/* Its size after a mark, so that what follows is aligned. Returns how much that is. */
static size_t send_message(struct arrow_table *table, struct buf *message)
{
    struct buf before = {0};
    flat_align(message, ALIGNMENT);
    buf_number(&before, UINT32_MAX, sizeof(uint32_t));
    buf_number(&before, message->size, sizeof(uint32_t));
    buf_fail_with(&table->blocks, message);
    buf_fail_with(&table->blocks, &before);
    if (!before.out_of_memory)
        send(table, before.bytes, before.size);
    if (!message->out_of_memory && message->size)
        send(table, message->bytes, message->size);
    buf_release(&before);
    return 2 * sizeof(uint32_t) + message->size;
}

void arrow_table_begin(struct arrow_table *table, const struct arrow_column *columns, size_t count)
{
    struct buf message = {0};
    assert(count <= ARROW_COLUMNS_MAX);
    table->columns = columns;
    table->column_count = count;
    stream_binary(table->out);
    send(table, magic, ALIGNMENT);
    put_schema(&message, begin_message(&message, HEADER_SCHEMA, 0), table);
    send_message(table, &message);
    buf_release(&message);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void end_value(struct arrow_table *table, bool is_null)
{
    struct arrow_values *values = &table->values[table->column];
    if (table->columns[table->column].type == ARROW_TEXT)
        buf_number(&values->ends, values->values.size, sizeof(int32_t));
    buf_char(&values->valid, !is_null);
    values->nulls += is_null;
    table->column = (table->column + 1) % table->column_count;
    table->rows += table->column == 0;
}

static size_t size_of(const struct arrow_table *table)
{
    return table->columns[table->column].type == ARROW_LONG ? sizeof(int64_t) : sizeof(int32_t);
}

void arrow_table_integer(struct arrow_table *table, long long value)
{
    assert(table->columns[table->column].type <= ARROW_LONG);
    buf_number(&table->values[table->column].values, (uint64_t)value, size_of(table));
    end_value(table, false);
}

void arrow_table_float(struct arrow_table *table, float value)
{
    uint32_t bits = 0;
    assert(table->columns[table->column].type == ARROW_FLOAT);
    memcpy(&bits, &value, sizeof bits);
    buf_number(&table->values[table->column].values, bits, sizeof bits);
    end_value(table, false);
}

void arrow_table_text(struct arrow_table *table, const char *text)
{
    struct buf *values = &table->values[table->column].values;
    size_t before = values->size;
    assert(table->columns[table->column].type == ARROW_TEXT);
    csv_text(values, text);
    table->text_bytes += values->size - before;
    end_value(table, false);
}

void arrow_table_null(struct arrow_table *table)
{
    if (table->columns[table->column].type != ARROW_TEXT)
        buf_number(&table->values[table->column].values, 0, size_of(table));
    end_value(table, true);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* The buffers of a column as a batch has them: a bit a row where any is null; of texts where the
 * first begins and where each ends; the values. */
struct columns_out {
    struct buf bits[ARROW_COLUMNS_MAX], offsets[ARROW_COLUMNS_MAX];
};

static void make_buffers(struct columns_out *made, const struct arrow_table *table, size_t index)
{
    const struct arrow_values *values = &table->values[index];
    unsigned bits = 0;
    for (size_t row = 0; values->nulls && row < table->rows; row++) {
        bits |= (unsigned)values->valid.bytes[row] << row % 8;
        if (row % 8 == 7 || row + 1 == table->rows) {
            buf_char(&made->bits[index], (char)bits);
            bits = 0;
        }
    }
    if (table->columns[index].type == ARROW_TEXT) {
        buf_number(&made->offsets[index], 0, sizeof(int32_t));
        buf_bytes(&made->offsets[index], values->ends.bytes, values->ends.size);
    }
}

/* The next buffer of the body: where it begins, and how long it is. */
static void put_buffer(struct buf *message, uint64_t *offset, const struct buf *buffer)
{
    buf_number(message, *offset, sizeof(uint64_t));
    buf_number(message, buffer->size, sizeof(uint64_t));
    *offset += (buffer->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_batch(struct buf *message, const struct arrow_table *table,
                      const struct columns_out *made)
{
    enum { LENGTH, NODES, BUFFERS, FIELDS };
    struct flat_field fields[FIELDS] = {
        [LENGTH] = {8, table->rows}, [NODES] = {4}, [BUFFERS] = {4}};
    uint64_t size = 0;
    size_t buffers = 0;
    struct buf places = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        put_buffer(&places, &size, &made->bits[i]);
        if (table->columns[i].type == ARROW_TEXT)
            put_buffer(&places, &size, &made->offsets[i]);
        put_buffer(&places, &size, &table->values[i].values);
        buffers += table->columns[i].type == ARROW_TEXT ? 3 : 2;
    }
    flat_table(message, begin_message(message, HEADER_BATCH, size), fields, FIELDS);
    flat_vector(message, fields[NODES].at, table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        buf_number(message, table->rows, sizeof(uint64_t));
        buf_number(message, table->values[i].nulls, sizeof(uint64_t));
    }
    flat_vector(message, fields[BUFFERS].at, buffers);
    buf_bytes(message, places.bytes, places.size);
    buf_fail_with(message, &places);
    buf_release(&places);
}

/* The body after its message; in `blocks` where both are. */
static void send_batch(struct arrow_table *table, const struct columns_out *made)
{
    struct buf message = {0};
    uint64_t begin = table->position;
    put_batch(&message, table, made);
    size_t size = send_message(table, &message);
    uint64_t body = table->position;
    for (size_t i = 0; i < table->column_count; i++) {
        send_aligned(table, &made->bits[i]);
        send_aligned(table, &made->offsets[i]);
        send_aligned(table, &table->values[i].values);
    }
    buf_number(&table->blocks, begin, sizeof(uint64_t));
    buf_number(&table->blocks, size, sizeof(uint64_t)); /* an int32, and four bytes unused */
    buf_number(&table->blocks, table->position - body, sizeof(uint64_t));
    buf_release(&message);
}

static int check_memory(const struct arrow_table *table, const struct columns_out *made,
                        struct err *err)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (buf_check(&table->values[i].values, err) || buf_check(&table->values[i].ends, err) ||
            buf_check(&table->values[i].valid, err) || buf_check(&made->bits[i], err) ||
            buf_check(&made->offsets[i], err))
            return -1;
    return 0;
}

int arrow_table_flush(struct arrow_table *table, struct err *err)
{
    struct columns_out made = {0};
    assert(table->column == 0);
    if (table->text_bytes > INT_MAX)
        return err_set(err,
                       "--format arrow: expected texts of at most %d bytes in a row, found %zu",
                       INT_MAX, table->text_bytes);
    int failed = check_memory(table, &made, err);
    for (size_t i = 0; i < table->column_count && !failed && table->rows; i++)
        make_buffers(&made, table, i);
    failed = failed || check_memory(table, &made, err);
    if (!failed && table->rows)
        send_batch(table, &made);
    for (size_t i = 0; i < table->column_count; i++) {
        struct arrow_values *values = &table->values[i];
        buf_release(&made.bits[i]);
        buf_release(&made.offsets[i]);
        buf_clear(&values->values);
        buf_clear(&values->ends);
        buf_clear(&values->valid);
        values->nulls = 0;
    }
    table->rows = table->text_bytes = 0;
    return failed || buf_check(&table->blocks, err) ? -1 : 0;
}

int arrow_table_end_row(struct arrow_table *table, struct err *err)
{
    bool full = table->rows >= BATCH_ROWS || table->text_bytes >= BATCH_TEXT_BYTES;
    return full ? arrow_table_flush(table, err) : 0;
}

int arrow_table_end(struct arrow_table *table, struct err *err)
{
    enum { VERSION, SCHEMA, DICTIONARIES, BATCHES, FIELDS, BLOCK_BYTES = 24 };
    struct flat_field fields[FIELDS] = {
        [VERSION] = {2, VERSION_5}, [SCHEMA] = {4}, [DICTIONARIES] = {4}, [BATCHES] = {4}};
    struct buf footer = {0};
    if (arrow_table_flush(table, err))
        return -1;
    send_message(table, &footer); /* of no bytes: the end of messages */
    buf_number(&footer, 0, sizeof(uint32_t));
    flat_table(&footer, 0, fields, FIELDS);
    put_schema(&footer, fields[SCHEMA].at, table);
    flat_vector(&footer, fields[DICTIONARIES].at, 0);
    flat_vector(&footer, fields[BATCHES].at, table->blocks.size / BLOCK_BYTES);
    buf_bytes(&footer, table->blocks.bytes, table->blocks.size);
    size_t size = footer.size;
    buf_number(&footer, size, sizeof(uint32_t));
    buf_bytes(&footer, magic, strlen(magic));
    int failed = buf_check(&table->blocks, err) || buf_check(&footer, err);
    if (!failed)
        send(table, footer.bytes, footer.size);
    buf_release(&footer);
    return failed ? -1 : 0;
}

void arrow_table_release(struct arrow_table *table)
{
    for (size_t i = 0; i < ARROW_COLUMNS_MAX; i++) {
        buf_release(&table->values[i].values);
        buf_release(&table->values[i].ends);
        buf_release(&table->values[i].valid);
    }
    buf_release(&table->blocks);
    table->rows = table->text_bytes = table->column = 0;
}
