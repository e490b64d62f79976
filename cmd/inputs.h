/* inputs.h: the texts a command works on: --sentence, operands, --file, --ids, or, where none of
 * them is given, what is piped in. Standard input is not touched beside a text. */
#ifndef ATTN_CMD_INPUTS_H
#define ATTN_CMD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "lens/tokenized.h"
#include "model/model.h"
#include "options.h"
#include "text/label.h"

struct inputs {
    struct input *items;
    size_t *lines; /* where each stands in the file, from 1; 0: not in it */
    size_t count;
    const char *path;
    const char *whole; /* what messages call a file that is one text; NULL: a line a text */
    struct file file;  /* what they point into */
    struct arena arena;
};

/* Sentences in the order given, then operands, then a sentence for each line of the file, or of the
 * pipe, that is not blank, then the ids. None at all is a usage error. */
int inputs_open(struct inputs *inputs, const struct input_options *options, struct err *err);

/* The same for a command that does without, there may be none; and for one that takes one text: a
 * file is that, less its last newline. */
int inputs_open_any(struct inputs *inputs, const struct input_options *options, struct err *err);
int inputs_open_one(struct inputs *inputs, const struct input_options *options, struct err *err);
void inputs_release(struct inputs *inputs);

/* Ids are taken as they are: --bos beside them is refused, for every item of a batch, too. */
int inputs_check_ids(const struct input_options *options, struct err *err);

/* Is any text named? If not: is standard input something that can be read instead, which is no
 * terminal? */
bool inputs_are_given(const struct input_options *options);
bool inputs_are_piped(const struct input_options *options);

/* Refuse a --source that no model looks at, and cross-attention without one. */
int inputs_check_source(const struct input_options *options, const struct model *model,
                        struct err *err);

/* Append where a text came from, as messages say it: 'story.txt' line 3, --ids, sentence 1; nothing
 * for the only sentence. */
void inputs_place(struct buf *place, const struct inputs *inputs, size_t index);

/* Put that before an error about it; returns -1. */
int inputs_blame(const struct inputs *inputs, size_t index, struct err *err);

/* The marks that the vocabulary does not have, over all texts. */
struct dropped {
    size_t count;
    size_t input; /* where the first one stands: in which text … */
    size_t at;    /* … at which byte */
    char first[LABEL_EXCERPT_BYTES];
};

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index);

/* Say on standard error, in one line, that they were left out; `place` is that of the text with the
 * first one, NULL or "" where it goes without saying. */
void dropped_note(const struct dropped *dropped, const char *place);

/* Let the tokenizer, which may be NULL, read texts as --bos and --no-special say. */
int inputs_set_tokenizer(struct tokenizer *tokenizer, const struct folder *folder,
                         const struct input_options *options, struct err *err);

/* A whole file or, for "-", standard input; what messages call it; and where its text begins:
 * after the invisible mark with which some editors say "this is UTF-8". */
int inputs_read_file(struct file *file, const char *path, struct err *err);
const char *inputs_shown_path(const char *path);
const char *inputs_after_mark(const struct file *file);

#endif
