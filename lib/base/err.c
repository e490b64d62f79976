#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* End a truncated message with "...", after a whole UTF-8 character. */
static void mark_cut(struct err *err, int wanted)
{
    if (wanted < ERR_TEXT_BYTES)
        return;
    char *end = err->text + ERR_TEXT_BYTES - 4;
    while (end > err->text && ((unsigned char)*end & 0xC0) == 0x80)
        end--;
    memcpy(end, "...", 4);
}

static void set(struct err *err, enum err_kind kind, const char *format, va_list args)
{
    if (!err || err->kind != ERR_NONE)
        return;
    err->kind = kind;
    mark_cut(err, vsnprintf(err->text, sizeof err->text, format, args));
}

#define SETTER(name, kind)                             \
    int name(struct err *err, const char *format, ...) \
    {                                                  \
        va_list args;                                  \
        va_start(args, format);                        \
        set(err, kind, format, args);                  \
        va_end(args);                                  \
        return -1;                                     \
    }

SETTER(err_set, ERR_INPUT)
SETTER(err_usage, ERR_USAGE)
SETTER(err_unsupported, ERR_UNSUPPORTED)
SETTER(err_output, ERR_OUTPUT)
SETTER(err_failed, ERR_FAILED)
SETTER(err_interrupted, ERR_INTERRUPTED)

int err_prefix(struct err *err, const char *format, ...)
{
    if (!err || err->kind == ERR_NONE)
        return -1;
    char whole[ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    if (size < 0)
        return -1;
    if (size < ERR_TEXT_BYTES)
        size += snprintf(whole + size, sizeof whole - (size_t)size, ": %s", err->text);
    strcpy(err->text, whole);
    mark_cut(err, size);
    return -1;
}

int err_about(struct err *err, enum err_about about)
{
    if (err && err->kind != ERR_NONE)
        err->about = about;
    return -1;
}

int err_append(struct err *err, const char *format, ...)
{
    if (!err || err->kind == ERR_NONE)
        return -1;
    size_t used = strlen(err->text);
    va_list args;
    va_start(args, format);
    int size = vsnprintf(err->text + used, sizeof err->text - used, format, args);
    va_end(args);
    mark_cut(err, (int)used + size);
    return -1;
}

int err_memory(struct err *err, size_t size_bytes)
{
    if (err && err->kind == ERR_NONE)
        err->out_of_memory = true;
    return err_set(err, "out of memory: cannot allocate %zu bytes", size_bytes);
}

int err_adopt(struct err *err, const struct err *from)
{
    if (err && err->kind == ERR_NONE)
        *err = *from;
    return -1;
}

void err_clear(struct err *err)
{
    err->kind = ERR_NONE;
    err->about = ERR_ABOUT_ANYTHING;
    err->out_of_memory = false;
    err->text[0] = '\0';
}
