/* input_file.h: a file of texts or of a table, or standard input.
 *
 *     if (input_file_open(&file, path, err)) ...
 *     file_release(&file);
 */
#pragma once

#include "base/err.h"
#include "base/file.h"

/* Open a whole file or, for "-", standard input. shown_path is the name of a file in messages. */
int input_file_open(struct file *file, const char *path, struct err *err);
const char *shown_path(const char *path);
