/* say.h: messages of all commands on standard error, and the names of files and models in
 * messages. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"

struct dictionary;
struct options;
struct tokenized;
struct tokenizer;

/* --- standard error --------------------------------------------------------------------------- */

/* print_note prints "attn-cli: note: …", unless --quiet is set; print_failure prints "attn-cli:
 * error: …". */
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_failure(const char *text);

/* Print a note if the tokenizer's settings ask for truncation or padding, which are ignored.
 * `tokenizer` may be NULL. */
void print_note_of_tokenizer(const struct tokenizer *tokenizer);

/* Print a note if, by the files of a dictionary of features, all its training texts were shorter
 * than `text`, or only one of the two, the training texts or `text`, begins with a special token.
 * Returns true if the note was printed. */
bool print_note_of_training(const struct dictionary *dictionary, const struct tokenized *text);

/* Print a note if the `mapped` bytes of a weights file and `others`, the other bytes that are
 * needed, together exceed the memory. Print nothing if `others` alone exceed it. */
void print_note_of_weights(double mapped, double others);

/* --- files of texts --------------------------------------------------------------------------- */

/* input_file_open opens a whole file or, for "-", standard input. shown_path is the name of a file
 * in messages. */
int input_file_open(struct file *file, const char *path, struct err *err);
const char *shown_path(const char *path);

/* --- models ----------------------------------------------------------------------------------- */

/* chosen_model returns --model, else $ATTN_MODEL, else NULL for the default. only_model also
 * accepts the model as an operand; two models are a usage error. */
const char *chosen_model(const char *option);
int only_model(const char **name, const struct options *options, struct err *err);
