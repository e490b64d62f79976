/* sniff_format.h: a file that is none of those that are read, but known by its first bytes.
 *
 *     if (sniff_format_refuse(bytes, size, "a safetensors file", err))
 *         return -1;          ("expected a safetensors file, found an HTML page")
 */
#ifndef ATTN_FORMAT_SNIFF_FORMAT_H
#define ATTN_FORMAT_SNIFF_FORMAT_H

#include "base/err.h"

/* 0: it is none of them. */
int sniff_format_refuse(const char *bytes, size_t size, const char *expected, struct err *err);

#endif
