/* made.h: an input that is being made: files in memory, and the command lines that read them.
 *
 *     made_file(made, "m/config.json", text, size);
 *     if (made_one_in(made, 2))
 *         change(made, made_find(made, "m/config.json"));
 *     made_line(made, "run -q -m m --ids 0,1 --format csv");
 *
 * What is drawn depends on the kind's name and the input's number alone; of one expression only one
 * part may draw, for compilers go through them as they like. All memory is the input's
 * own, given back with it.
 */
#ifndef ATTN_TESTS_MADE_H
#define ATTN_TESTS_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/folder.h"

enum { MADE_FILES_MAX = 128, MADE_LINES_MAX = 4 };

struct made {
    uint32_t dice;
    struct folder_file files[MADE_FILES_MAX]; /* names may have folders in them */
    size_t file_count;
    const char *lines[MADE_LINES_MAX]; /* words with a blank between two */
    size_t line_count;
    struct arena arena;
};

/* Forget the input before, and begin number `number` of a kind. */
void made_begin(struct made *made, const char *kind, size_t number);

/* From 0 to limit - 1; limit must not be 0. */
size_t made_below(struct made *made, size_t limit);
bool made_one_in(struct made *made, size_t many);

/* One of an array of texts. */
#define MADE_PICK(made, items) ((items)[made_below(made, sizeof(items) / sizeof *(items))])

/* Put in a file, or other bytes in its place; they are copied. The pointer lives as long as the
 * input. */
struct folder_file *made_file(struct made *made, const char *name, const char *bytes, size_t size);
struct folder_file *made_text(struct made *made, const char *name, const char *text);
struct folder_file *made_find(struct made *made, const char *name);

/* The buffer's bytes become the file's; the buffer is released. */
void made_take(struct made *made, struct folder_file *file, struct buf *bytes);

void made_line(struct made *made, const char *format, ...) __attribute__((format(printf, 2, 3)));

void made_copy(struct made *made, const struct folder_file *files, size_t count);

/* Write the files into the working directory, or remove all that is in it. 0, or -1 with errno. */
int made_write(const struct made *made);
int made_clear(void);

/* The tests' own memory: without it they end. */
void *made_memory(void *memory);

#endif
