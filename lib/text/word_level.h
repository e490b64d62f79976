/* word_level.h: the tokenizer of a tokenizer.json whose model is WordLevel: added tokens are taken
 * out, the rest is cut at white space or around words, and every word is looked up whole.
 *
 * It does what Hugging Face's does, to the id. A vocab.json alone is read otherwise: words.h.
 */
#ifndef ATTN_TEXT_WORD_LEVEL_H
#define ATTN_TEXT_WORD_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/token_list.h"
#include "text/token_set.h"

enum word_level_cut {
    WORD_LEVEL_WHOLE,  /* nowhere: what lies between added tokens is one word */
    WORD_LEVEL_BLANKS, /* WhitespaceSplit: at white space */
    WORD_LEVEL_WORDS,  /* Whitespace: \w+ and [^\w\s]+ are words */
};

struct word_level {
    struct token_set set;
    enum word_level_cut cut;
    bool has_unknown;
    uint32_t unknown; /* of words that the vocabulary lacks */
};

/* Add the tokens of a text, which is valid UTF-8, to the list. Without a token for the unknown a
 * word that the vocabulary lacks is refused with its place. With `plain`, special tokens are text.
 */
int word_level_encode(const struct word_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err);

void word_level_release(struct word_level *level);

#endif
