#include "paged_model.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/heap.h"
#include "model/parameter_table.h"

enum { PAGE = 4096 }; /* tensors fill whole ones */

bool paged_model_works(void)
{
    unsigned char there[2] = {0, 1};
    char *bytes = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return false;
    bool zero = *(volatile char *)bytes == 0; /* from now on the first page is there */
    bool told = mincore(bytes, 2 * PAGE, there) == 0;
    munmap(bytes, 2 * PAGE);
    return sysconf(_SC_PAGESIZE) == PAGE && zero && told && there[0] & 1 && !(there[1] & 1);
}

static void add_tensor(struct paged_model *model, enum parameter_id id, size_t layer)
{
    size_t shape[2];
    struct paged_tensor *tensor = &model->tensors[model->count];
    if (!parameter_is_used(id, layer, &model->config))
        return;
    ck_assert_uint_lt(model->count++, PAGED_TENSORS_MAX);
    parameter_name(tensor->name, id, layer, &model->config);
    tensor->rank = parameter_shape(shape, id, &model->config);
    tensor->rows = tensor->rank == 2 ? shape[0] : 1;
    tensor->row_bytes = shape[tensor->rank - 1] * model->element_bytes;
    ck_assert_uint_eq(tensor->rows * tensor->row_bytes % PAGE, 0);
}

/* List the tensors; returns the bytes of them all. */
static size_t add_tensors(struct paged_model *model)
{
    size_t size = 0;
    for (int id = 0; id < PARAMETERS_OF_MODEL; id++)
        add_tensor(model, (enum parameter_id)id, 0);
    for (size_t layer = 0; layer < config_layers(&model->config); layer++)
        for (int id = PARAMETERS_OF_MODEL; id < PARAMETERS; id++)
            add_tensor(model, (enum parameter_id)id, layer);
    for (size_t i = 0; i < model->count; i++) {
        model->tensors[i].first_byte = size;
        size += model->tensors[i].rows * model->tensors[i].row_bytes;
    }
    return size;
}

/* `"h.0.ln_1.weight":{"dtype":"F32","shape":[64],"data_offsets":[0,256]}` */
static void write_entry(struct buf *header, const struct paged_model *model,
                        const struct paged_tensor *tensor, enum dtype dtype)
{
    size_t size = tensor->rows * tensor->row_bytes;
    size_t columns = tensor->row_bytes / model->element_bytes;
    buf_format(header, "\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensor->name, dtype_name(dtype));
    if (tensor->rank == 2)
        buf_format(header, "%zu,", tensor->rows);
    buf_format(header, "%zu],\"data_offsets\":[%zu,%zu]}", columns, tensor->first_byte,
               tensor->first_byte + size);
}

/* The length of the header, the header, blanks up to the next page. */
static void write_header(struct buf *header, const struct paged_model *model, enum dtype dtype)
{
    buf_bytes(header, "\0\0\0\0\0\0\0\0", 8);
    for (size_t i = 0; i < model->count; i++) {
        buf_char(header, i ? ',' : '{');
        write_entry(header, model, &model->tensors[i], dtype);
    }
    buf_char(header, '}');
    while (header->size % PAGE)
        buf_char(header, ' ');
    ck_assert_int_eq(buf_check(header, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        header->bytes[i] = (char)((header->size - 8) >> 8 * i & 0xff);
}

/* The header and, after it, memory that nobody has touched. */
static void map_file(struct paged_model *model, const struct buf *header)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    model->file_bytes = header->size + model->data_bytes;
    char *bytes = mmap(NULL, model->file_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    madvise(bytes, model->file_bytes, MADV_NOHUGEPAGE); /* fails where there are none */
    memcpy(bytes, header->bytes, header->size);
    model->data = bytes + header->size;
    model->files[1] = (struct folder_file){"model.safetensors", bytes, model->file_bytes};
    model->folder.file_count = 2;
}

void paged_model_make(struct paged_model *model, const char *config, enum dtype dtype)
{
    struct err err = {0};
    struct buf header = {0};
    *model = (struct paged_model){.element_bytes = dtype_size_bytes(dtype)};
    model->files[0] = (struct folder_file){"config.json", config, strlen(config)};
    model->folder = (struct folder){"paged", model->files, 1};
    ck_assert_msg(config_open(&model->config, &model->folder, &err) == 0, "%s", err.text);
    model->data_bytes = add_tensors(model);
    write_header(&header, model, dtype);
    map_file(model, &header);
    model->pages = model->data_bytes / PAGE;
    model->needed = heap_alloc(model->pages, sizeof *model->needed, NULL);
    ck_assert_ptr_nonnull(model->needed);
    buf_release(&header);
}

void paged_model_release(struct paged_model *model)
{
    munmap((void *)model->files[1].bytes, model->file_bytes);
    heap_free(model->needed);
    *model = (struct paged_model){0};
}

/* [pages] 1 where a page is there; to be freed. */
static unsigned char *touched_pages(const struct paged_model *model)
{
    unsigned char *pages = heap_alloc(model->pages, sizeof *pages, NULL);
    ck_assert_ptr_nonnull(pages);
    ck_assert_int_eq(mincore(model->data, model->data_bytes, pages), 0);
    for (size_t i = 0; i < model->pages; i++)
        pages[i] &= 1;
    return pages;
}

void paged_model_forget(struct paged_model *model)
{
    memset(model->needed, 0, model->pages * sizeof *model->needed);
    ck_assert_int_eq(madvise(model->data, model->data_bytes, MADV_DONTNEED), 0);
}

static void need_bytes(struct paged_model *model, size_t first, size_t count)
{
    size_t last = (first + count - 1) / PAGE;
    for (size_t page = first / PAGE; page <= last; page++)
        model->needed[page] = true;
}

void paged_model_need_rows(struct paged_model *model, const char *tensor, const uint32_t *rows,
                           size_t count)
{
    const struct paged_tensor *found = model->tensors;
    while (strcmp(found->name, tensor) != 0)
        ck_assert_msg(++found < model->tensors + model->count, "there is no '%s'", tensor);
    for (size_t i = 0; i < count; i++)
        need_bytes(model, found->first_byte + rows[i] * found->row_bytes, found->row_bytes);
}

/* Columns first … end - 1 of every row; end 0: all of them. */
static void need_columns(struct paged_model *model, const struct paged_tensor *tensor, size_t first,
                         size_t end)
{
    size_t first_byte = first * model->element_bytes;
    size_t end_byte = end ? end * model->element_bytes : tensor->row_bytes;
    ck_assert(first_byte < end_byte && end_byte <= tensor->row_bytes);
    for (size_t row = 0; row < tensor->rows; row++)
        need_bytes(model, tensor->first_byte + row * tensor->row_bytes + first_byte,
                   end_byte - first_byte);
}

static void need_part(struct paged_model *model, const char *part)
{
    char name[64];
    size_t first = 0;
    size_t end = 0;
    size_t found = 0;
    ck_assert_int_ge(sscanf(part, "%63[^[ ][%zu:%zu]", name, &first, &end), 1);
    for (size_t i = 0; i < model->count; i++) {
        if (strncmp(model->tensors[i].name, name, strlen(name)) != 0)
            continue;
        need_columns(model, &model->tensors[i], first, end);
        found++;
    }
    ck_assert_msg(found > 0, "there is no '%s…'", name);
}

void paged_model_need(struct paged_model *model, const char *parts)
{
    while (*parts) {
        need_part(model, parts);
        parts += strcspn(parts, " ");
        parts += strspn(parts, " ");
    }
}

/* What a byte of the data belongs to, for messages. */
static const char *describe(const struct paged_model *model, size_t byte, char *text, size_t size)
{
    const struct paged_tensor *tensor = &model->tensors[model->count - 1];
    while (byte < tensor->first_byte)
        tensor--;
    byte -= tensor->first_byte;
    snprintf(text, size, "'%s' row %zu, column %zu", tensor->name, byte / tensor->row_bytes,
             byte % tensor->row_bytes / model->element_bytes);
    return text;
}

size_t paged_model_check(const struct paged_model *model)
{
    size_t count = 0;
    char text[2 * PARAMETER_NAME_BYTES];
    unsigned char *touched = touched_pages(model);
    for (size_t page = 0; page < model->pages; page++) {
        if (touched[page] != model->needed[page])
            ck_abort_msg("%s: %s", describe(model, page * PAGE, text, sizeof text),
                         touched[page] ? "read, not needed" : "needed, not read");
        count += touched[page];
    }
    heap_free(touched);
    return count * PAGE;
}
