/* err.h: error messages. (This header also includes <stdbool.h> and <stddef.h>.)
 *
 * A function that can fail gets a `struct err *` and returns 0 or a pointer; on failure it sets the
 * message and returns -1 or NULL. Callers may add a prefix. The kind of an error is the
 * exit status of the program.
 *
 *     if (fd < 0)
 *         return err_set(err, "cannot open '%s': %s", path, strerror(errno));
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum err_kind {
    ERR_NONE = 0,
    ERR_FAILED = 1,        /* some items of a batch failed, or compared results differ */
    ERR_USAGE = 2,         /* the command line, or a call of the library, is wrong */
    ERR_INPUT = 3,         /* an input is missing, wrong or too large; or memory ran out */
    ERR_UNSUPPORTED = 4,   /* the input is well-formed, but not supported */
    ERR_OUTPUT = 5,        /* a result could not be written */
    ERR_INTERRUPTED = 130, /* interrupted by the user; the results so far are saved */
};

enum { ERR_TEXT_BYTES = 8192 }; /* a longer message ends in "..." */

/* The subject of a message, by which the command line chooses advice or decides to continue with
 * the next text. */
enum err_about {
    ERR_ABOUT_ANYTHING,
    ERR_ABOUT_WORD,      /* a word that the vocabulary lacks */
    ERR_ABOUT_TOKENIZER, /* a tokenizer that the model lacks, or that is not supported */
    ERR_ABOUT_LENGTH,    /* a text with more tokens than the model has position embeddings */
    ERR_ABOUT_CONTEXT,   /* a text beyond the context of a model without position embeddings; --long
                          * allows it */
    ERR_ABOUT_POSITION,  /* a position or value that this text lacks; other texts may have it */
    ERR_ABOUT_EMPTY,     /* a text that is missing or has no tokens; other texts may have tokens */
};

struct err {
    enum err_kind kind;
    enum err_about about;
    bool out_of_memory; /* the message says that memory ran out */
    char text[ERR_TEXT_BYTES];
};

#define ERR_PRINTF __attribute__((format(printf, 2, 3)))

/* Set the message and its kind (ERR_INPUT for err_set, otherwise the kind in the function's name),
 * unless `err` already has a message, since the first cause matters. Return -1. `err` may be
 * NULL. */
int err_set(struct err *err, const char *format, ...) ERR_PRINTF;
int err_usage(struct err *err, const char *format, ...) ERR_PRINTF;
int err_unsupported(struct err *err, const char *format, ...) ERR_PRINTF;
int err_output(struct err *err, const char *format, ...) ERR_PRINTF;
int err_failed(struct err *err, const char *format, ...) ERR_PRINTF;
int err_interrupted(struct err *err, const char *format, ...) ERR_PRINTF;

/* Change the message, if there is one, and return -1: err_prefix puts "prefix: " before it,
 * err_append adds a text after it, err_about sets its subject. */
int err_prefix(struct err *err, const char *format, ...) ERR_PRINTF;
int err_append(struct err *err, const char *format, ...) ERR_PRINTF;
int err_about(struct err *err, enum err_about about);

/* Unless `err` has a message already, err_memory sets a message about missing memory, and err_adopt
 * copies the error `from`. Both return -1. */
int err_memory(struct err *err, size_t size_bytes);
int err_adopt(struct err *err, const struct err *from);

void err_clear(struct err *err);

/* Return -1 if a step failed, else 0.
 *
 *     return err_if(buf_check(&path, err) || file_remove(path.bytes, err));
 */
static inline int err_if(bool failed)
{
    return failed ? -1 : 0;
}
