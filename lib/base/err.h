/* err.h: error messages; also includes bool and size_t.
 *
 * A function that can fail takes a `struct err *` last and returns 0, or -1 after setting the
 * message; callers may add a prefix. The kind is the exit status.
 *
 *     if (fd < 0)
 *         return err_set(err, "cannot open '%s': %s", path, strerror(errno));
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum err_kind {
    ERR_NONE = 0,
    ERR_FAILED = 1,        /* a check failed, or some of many items did */
    ERR_USAGE = 2,         /* the command line is wrong */
    ERR_INPUT = 3,         /* a file or a text is missing, broken or too large */
    ERR_UNSUPPORTED = 4,   /* well-formed, but not supported */
    ERR_OUTPUT = 5,        /* a result could not be written */
    ERR_INTERRUPTED = 130, /* by the user; finished results are safe */
};

enum { ERR_TEXT_BYTES = 8192 }; /* a longer message ends in "..." */

/* The subject of a message to which the command line adds advice. */
enum err_about {
    ERR_ABOUT_ANYTHING,
    ERR_ABOUT_WORD,      /* missing in a vocabulary */
    ERR_ABOUT_TOKENIZER, /* missing in a model */
    ERR_ABOUT_LENGTH,    /* of a text, above what the model supports */
    ERR_ABOUT_CONTEXT,   /* a text beyond the context, which an option allows */
    ERR_ABOUT_POSITION,  /* a position that a text lacks, but other texts may have */
    ERR_ABOUT_EMPTY,     /* a text without tokens; other texts may have some */
};

struct err {
    enum err_kind kind;
    enum err_about about;
    bool out_of_memory; /* the message is that memory is missing */
    char text[ERR_TEXT_BYTES];
};

#define ERR_PRINTF __attribute__((format(printf, 2, 3)))

/* Set the message and its kind (ERR_INPUT, or as named), unless there is a message: the first cause
 * matters. Return -1. `err` may be NULL. */
int err_set(struct err *err, const char *format, ...) ERR_PRINTF;
int err_usage(struct err *err, const char *format, ...) ERR_PRINTF;
int err_unsupported(struct err *err, const char *format, ...) ERR_PRINTF;
int err_output(struct err *err, const char *format, ...) ERR_PRINTF;
int err_failed(struct err *err, const char *format, ...) ERR_PRINTF;
int err_interrupted(struct err *err, const char *format, ...) ERR_PRINTF;

/* Change the message, if any, and return -1: put "prefix: " before it, add text after it, set its
 * subject. */
int err_prefix(struct err *err, const char *format, ...) ERR_PRINTF;
int err_append(struct err *err, const char *format, ...) ERR_PRINTF;
int err_about(struct err *err, enum err_about about);

/* Set the message for an allocation that failed, or copy the message of `from`. Return -1. */
int err_memory(struct err *err, size_t size_bytes);
int err_adopt(struct err *err, const struct err *from);

/* Remove the message. */
void err_clear(struct err *err);

/* -1 if a step failed, else 0.
 *
 *     return err_if(open_input(&input, err) || read_all(&input, err));
 */
static inline int err_if(bool failed)
{
    return failed ? -1 : 0;
}
