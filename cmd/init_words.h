/* init_words.h: the words of a model that `init` makes: the files of its tokenizer, in memory.
 *
 * From --sentence and --file, from --vocab and --merges, or those of the model that --like names.
 *
 *     struct init_words words = {0};
 *     if (init_words_find(&words, options, &like, err)) ...
 *     init_words_release(&words);
 */
#ifndef ATTN_CMD_INIT_WORDS_H
#define ATTN_CMD_INIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/target_folder.h"
#include "options.h"
#include "text/word_list.h"

enum { INIT_WORDS_FILES = 6 };

struct init_words {
    struct folder folder; /* its path is the directory to be written */
    struct folder_file files[INIT_WORDS_FILES];
    struct file sources[INIT_WORDS_FILES]; /* what they were read from */
    struct file text;                      /* --file */
    struct buf json;                       /* the words of texts */
    bool lacks_merges;                     /* a byte-level BPE's vocabulary without them */
    size_t count;                          /* one more than the largest id; 0: no tokenizer */
};

/* True when the options name words, so that those of --like are not asked for. */
bool init_words_are_given(const struct options *options);

/* Each from one place only, and --merges not alone. Errors are usage. */
int init_words_check(const struct options *options, struct err *err);

/* Find the words; `like` is NULL where no model lends its own. What is held is released by
 * init_words_release, on failure, too. */
int init_words_find(struct init_words *words, const struct options *options,
                    const struct folder *like, struct err *err);
void init_words_release(struct init_words *words);

/* Refuse a directory with a file of another tokenizer, which would be read with those that are to
 * be written there. save_folder does so, too; this is for what takes long before it. */
int init_words_check_target(const struct folder *folder, const char *path, struct err *err);

/* Write the files of a new model, or of a vocabulary, into the directory of -o or --save, and show
 * how far it is. target_folder_check says before anything else whether it may. */
int save_folder(const struct folder *folder, const char *path, const struct options *options,
                struct err *err);

/* Say, where a list has characters for words, that blanks in the texts decide otherwise. */
void init_words_note(const struct options *options, const struct word_list *list);

#endif
