/* sniff_format.h: recognises files of other formats by their first bytes.
 *
 *     if (sniff_format_refuse(bytes, size, "a safetensors file", err))
 *         return -1;          ("expected a safetensors file, found an HTML page")
 */
#pragma once

#include "base/err.h"

/* Refuse a file of a format that people download or rename by mistake; else return 0. */
int sniff_format_refuse(const char *bytes, size_t size, const char *expected, struct err *err);
