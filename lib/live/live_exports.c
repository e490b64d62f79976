/* live_exports.c: functions of the engine that `make wasm` compiles for pages. The engine has no
 * bundled models. Strings end with a 0, even texts with a size; results go to standard output. */
#include "live/live.h"

#ifdef __wasm__

#include "base/memory.h"
#include "draw/page.h"
#include "model/model.h"
#include "pass/sampler.h"

/* Declare and define a function that the page can call. */
#define EXPORT(type, name, ...)                                 \
    __attribute__((export_name(#name))) type name(__VA_ARGS__); \
    type name(__VA_ARGS__)

enum { FILES_MAX = 16, STANDARD_OUTPUT = 1 };

const struct folder bundled_models[] = {{0}};
const size_t bundled_count = 0;
const char bundled_default[] = "";
const struct folder bundled_dictionaries[] = {{0}};
const size_t bundled_dictionary_count = 0;

static struct folder_file files[FILES_MAX];
static struct folder folder = {.files = files};
static struct live *opened;
static struct err err;

/* Allocate zeroed memory for the page to fill; NULL: no memory is left. */
EXPORT(void *, live_alloc, size_t size)
{
    return heap_alloc(size, 1, NULL);
}

EXPORT(void, live_free, void *memory)
{
    heap_free(memory);
}

/* Add a file of the model. Its name and bytes are not copied. */
EXPORT(int, live_file, const char *name, const char *bytes, size_t size)
{
    if (folder.file_count == FILES_MAX)
        return -1;
    files[folder.file_count++] = (struct folder_file){name, bytes, size};
    return 0;
}

EXPORT(int, live_begin, const char *name)
{
    err = (struct err){0};
    folder.path = name;
    return live_open(&opened, &folder, &err);
}

EXPORT(int, live_switches, const char *scale, const char *without)
{
    err = (struct err){0};
    return live_switch(opened, scale, without, &err);
}

/* Open standard output for a result. */
static int begin(struct stream *out)
{
    *out = (struct stream){0};
    err = (struct err){0};
    return stream_to(out, STANDARD_OUTPUT, &err);
}

EXPORT(int, live_run, const char *text, size_t size, const char *added, const char *show,
       const char *layer, const char *edits, float temperature, size_t next, int steps, int token)
{
    struct live_request request = {
        .text = text,
        .size = size,
        .added = added,
        .show = show,
        .layer = layer,
        .edits = edits,
        .temperature = temperature,
        .next = next,
        .steps = steps != 0,
        .of_token = token >= 0,
        .token = (size_t)token,
    };
    struct stream out;
    int failed = begin(&out) || live_write(opened, &out, &request, &err);
    return stream_end(&out, failed, &err);
}

EXPORT(int, live_next, const char *text, size_t size, const char *added, const char *edits,
       float temperature, size_t next, double sampling_temperature, size_t top_k, double seed,
       size_t index)
{
    struct live_request request = {text, size, added, "", "", edits, temperature, next};
    struct sampling sampling = {sampling_temperature, top_k, 1, (uint64_t)seed};
    struct stream out;
    int failed = begin(&out) || live_write_next(opened, &out, &request, &sampling, index, &err);
    return stream_end(&out, failed, &err);
}

EXPORT(int, live_knockout, const char *text, size_t size, const char *added, const char *edits,
       float temperature, size_t next, int of_source, size_t key)
{
    struct live_request request = {text, size, added, "", "", edits, temperature, next};
    struct stream out;
    int failed =
        begin(&out) || live_write_knockout(opened, &out, &request, of_source != 0, key, &err);
    return stream_end(&out, failed, &err);
}

EXPORT(int, live_findings, const char *text, size_t size, const char *added, const char *edits,
       float temperature, double products)
{
    struct live_request request = {text, size, added, "", "", edits, temperature};
    struct stream out;
    int failed = begin(&out) || live_write_findings(opened, &out, &request, products, &err);
    return stream_end(&out, failed, &err);
}

EXPORT(int, live_origin, const char *text, size_t size, const char *added, float temperature,
       size_t layer, size_t head, size_t query, size_t key, int less_mean)
{
    struct live_request request = {text, size, added, "", "", "", temperature};
    struct page_origin asked = {
        .layer = layer, .head = head, .query = query, .key = key, .less_mean = less_mean != 0};
    struct stream out;
    int failed = begin(&out) || live_write_origin(opened, &out, &request, &asked, &err);
    return stream_end(&out, failed, &err);
}

/* The error message of the last call of live_begin, live_run, live_next, live_knockout or
 * live_origin; "": the call succeeded. */
EXPORT(const char *, live_error, void)
{
    return err.text;
}

#endif
