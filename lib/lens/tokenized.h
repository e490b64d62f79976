/* tokenized.h: a text as tokens with their labels, ready to be shown. */
#ifndef ATTN_LENS_TOKENIZED_H
#define ATTN_LENS_TOKENIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "lens/report.h"
#include "text/tokenizer.h"

struct config;

/* What somebody gives to be read: a text, or a list of ids. */
struct input {
    const char *text; /* not 0-terminated; NULL: ids */
    size_t size;
    const char *ids; /* "3,1,4" */
};

/* What a model can read. */
struct lexicon {
    const struct tokenizer *tokenizer; /* NULL: only ids will do */
    const struct config *config;       /* how many words and positions there are */
};

/* One thing that gets a label. */
struct thing {
    size_t place;
    const char *bytes;
    size_t size;
    bool goes_on; /* it ends inside a character, which the next one goes on */
};

/* Its forms: its own text, what is seen of it, and that with its place before it. */
int label_make(struct label *label, const struct thing *thing, struct arena *arena,
               struct err *err);

/* Tokenize and label; all memory is the arena's. Refused: an empty text, one of more tokens than
 * the model has positions, and a token for which the model has no row. */
int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct lexicon *lexicon, struct arena *arena, struct err *err);

/* The text that is still empty but for the token that texts of the model begin with, which has no
 * place in it. Refused where the config names none. */
int tokenized_begin(struct tokenized *tokenized, const struct lexicon *lexicon, struct arena *arena,
                    struct err *err);

/* Refuse a text without tokens. */
int tokenized_check(const struct tokenized *tokenized, struct err *err);

/* Label tokens that are there already; they are borrowed. The text is for the caller to fill in. */
int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
                    const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* Labels "0", "1", … below `count`; and of every word of a vocabulary, `count` of them. */
const struct label *labels_of_numbers(size_t count, struct arena *arena, struct err *err);
const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err);

/* An axis with the labels "0", "1", … */
int axis_of_numbers(struct axis *axis, const char *name, size_t size, struct arena *arena,
                    struct err *err);

/* One token of a text, by what somebody calls it:
 *
 *     is      the first token that reads so; the blank that GPT-2's tokens begin with need not be
 *             said, and a label (␣is) will do
 *     3, -1   the token at that place, counted from 0, or from the end
 *     3:is    the token at that place, which must read so: the label of data files
 *
 * A token that reads `3` wins over the place 3.
 */
struct token_match {
    size_t index;
    size_t alike; /* tokens after it that go by the same name … */
    size_t next;  /* … and the first of them */
    size_t place; /* the token whose place the name is, should it be a number, too; else index */
};

/* False: there is none. */
bool tokenized_find_token(struct token_match *match, const struct tokenized *tokenized,
                          const char *name);

/* What a token is called for short: its text, or what is seen of it, without the blanks before it.
 */
const char *label_name(const struct label *label);

/* --- tokens as running text (wording.c) --------------------------------------------------------
 *
 * Words of a vocabulary get blanks between them where people write them: not before a comma, not
 * after a bracket that opens, not between Chinese words. Tokens that bring their own blanks
 * (byte-level BPE) are joined as they are. Where there is no tokenizer the text is the ids, as
 * --ids takes them: 3,1,4.
 *
 *     size_t start = wording_add(&text, tokenizer, id);     (its bytes are text.bytes + start …)
 */

/* Append a token, and what stands before it; returns where its own bytes begin. A token that the
 * tokenizer does not know is written as its number. `tokenizer` may be NULL. */
size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id);

/* True for a character of a script that puts no blanks between words: Han, kana, Thai, … */
bool wording_has_no_blanks(uint32_t character);

#endif
