/* tokenizer_json.h: tokenizers as Hugging Face saves them, with the same ids: one tokenizer.json,
 * or GPT-2's vocab.json and merges.txt.
 *
 * Read are the model (BPE or WordLevel), the added tokens and the pre-tokenizer: ByteLevel, alone
 * or after a Split by GPT-2's pattern; for WordLevel Whitespace, WhitespaceSplit or none. What
 * would give other ids is refused by its name.
 *
 *     struct tokenizer_json json = {0};
 *     if (tokenizer_json_open(&json, folder, err)) ...
 *     if (json.model == TOKENIZER_JSON_BPE) use(&json.byte_level);
 */
#ifndef ATTN_TEXT_TOKENIZER_JSON_H
#define ATTN_TEXT_TOKENIZER_JSON_H

#include "text/bpe.h"
#include "text/token_set.h"

struct folder;

/* Byte-level BPE (bpe.h) of what lies between added tokens. */
struct byte_level {
    struct token_set set;
    struct bpe bpe;
    bool prefix_space; /* a blank goes before what does not begin with one, without a place in it */
};

/* Read vocab.json and merges.txt; and the added tokens from tokenizer_config.json, else from
 * added_tokens.json, with `<|endoftext|>` for a special one. On failure nothing is held. */
int byte_level_open(struct byte_level *level, const struct folder *folder, struct err *err);
void byte_level_release(struct byte_level *level);

/* Add a text's tokens to the list. */
int byte_level_encode(const struct byte_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err);

/* WordLevel: every word between added tokens is looked up whole. (A vocab.json alone: words.h.) */
enum word_level_cut {
    WORD_LEVEL_WHOLE,  /* nowhere: what lies between added tokens is one word */
    WORD_LEVEL_BLANKS, /* WhitespaceSplit: at white space */
    WORD_LEVEL_WORDS,  /* Whitespace: \w+ and [^\w\s]+ are words */
};

struct word_level {
    struct token_set set;
    enum word_level_cut cut;
    bool has_unknown;
    uint32_t unknown; /* of words that the vocabulary lacks; without it they are refused */
};

void word_level_release(struct word_level *level);
int word_level_encode(const struct word_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err);

struct tokenizer_json {
    enum { TOKENIZER_JSON_BPE, TOKENIZER_JSON_WORD_LEVEL } model;
    struct byte_level byte_level; /* one of them is filled; who opened releases it */
    struct word_level word_level;
    long long truncation; /* tokens that other programs leave of a text; 0: all */
};

/* Errors name the file and the field. On failure nothing is held. */
int tokenizer_json_open(struct tokenizer_json *json, const struct folder *folder, struct err *err);

/* How a tokenizer.json wants texts to be cut before its model sees them. */
enum pre_tokenizer_kind {
    PRE_TOKENIZER_NONE,
    PRE_TOKENIZER_BYTE_LEVEL, /* GPT-2's pattern, then bytes */
    PRE_TOKENIZER_WHITESPACE,
    PRE_TOKENIZER_WHITESPACE_SPLIT,
};

struct pre_tokenizer {
    enum pre_tokenizer_kind kind;
    bool prefix_space; /* of ByteLevel */
};

/* Read the value of `pre_tokenizer`; NULL and null: none; refused: what is not supported. And its
 * name in the file. */
int pre_tokenizer_read(struct pre_tokenizer *out, const struct json *value, struct err *err);
const char *pre_tokenizer_name(enum pre_tokenizer_kind kind);

#endif
