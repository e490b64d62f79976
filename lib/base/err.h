/* err.h: one message on its way up; and, for every header that includes it, bool and size_t.
 *
 * A function that can fail takes a `struct err *` last and returns 0, or -1 with the message set
 * where the facts are; callers may put a prefix before it. The kind is the exit status.
 *
 *     if (fd < 0)
 *         return err_set(err, "cannot open '%s': %s", path, strerror(errno));
 */
#ifndef ATTN_BASE_ERR_H
#define ATTN_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

enum err_kind {
    ERR_NONE = 0,
    ERR_FAILED = 1,        /* a check said no, or some of many things failed */
    ERR_USAGE = 2,         /* the command line asks for what is not there */
    ERR_INPUT = 3,         /* a file or a text is missing, broken or too large */
    ERR_UNSUPPORTED = 4,   /* well-formed, but not something this program does */
    ERR_OUTPUT = 5,        /* a result could not be written */
    ERR_INTERRUPTED = 130, /* somebody stopped it, and what was done is safe */
};

enum { ERR_TEXT_BYTES = 8192 }; /* a longer message is cut and ends in "..." */

/* What a message is about, where whoever prints it knows a way out that it cannot name. */
enum err_about {
    ERR_ABOUT_ANYTHING,
    ERR_ABOUT_WORD,      /* that a vocabulary lacks */
    ERR_ABOUT_TOKENIZER, /* that a model lacks */
    ERR_ABOUT_LENGTH,    /* of a text that the model cannot take … */
    ERR_ABOUT_CONTEXT,   /* … unless it is asked to */
};

struct err {
    enum err_kind kind;
    enum err_about about;
    bool out_of_memory; /* … is all that is wrong */
    char text[ERR_TEXT_BYTES];
};

#define ERR_PRINTF __attribute__((format(printf, 2, 3)))

/* Set the message and its kind (ERR_INPUT, or the one in the name). All return -1. A message that
 * is already there stays: the first cause is the one worth reading. `err` may be NULL. */
int err_set(struct err *err, const char *format, ...) ERR_PRINTF;
int err_usage(struct err *err, const char *format, ...) ERR_PRINTF;
int err_unsupported(struct err *err, const char *format, ...) ERR_PRINTF;
int err_output(struct err *err, const char *format, ...) ERR_PRINTF;
int err_failed(struct err *err, const char *format, ...) ERR_PRINTF;
int err_interrupted(struct err *err, const char *format, ...) ERR_PRINTF;

/* These return -1, too: put "prefix: " before the message from below, or more after it; say what
 * it is about; out of memory, with the bytes that could not be had; take over another's message. */
int err_prefix(struct err *err, const char *format, ...) ERR_PRINTF;
int err_append(struct err *err, const char *format, ...) ERR_PRINTF;
int err_about(struct err *err, enum err_about about);
int err_memory(struct err *err, size_t size_bytes);
int err_adopt(struct err *err, const struct err *from);

/* Forget the message, so that the struct can be used again. */
void err_clear(struct err *err);

/* What a function returns whose steps may have failed: -1 if one has, else 0.
 *
 *     return err_if(open_input(&input, err) || read_all(&input, err));
 */
static inline int err_if(bool failed)
{
    return failed ? -1 : 0;
}

#endif
