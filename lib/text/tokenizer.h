/* tokenizer.h: from a text to ids and back, by the first of these files in a model's folder:
 * `tokenizer.json`; SentencePiece's `tokenizer.model` or `tokenizer.spm`; Marian's `target.spm` and
 * `source.spm`, with `vocab.json`; `sentencepiece.bpe.model`, with `vocab.json` (M2M-100) or alone
 * (XLM-RoBERTa, …); DeBERTa's `spm.model`; `spiece.model` (T5, …); `vocab.json`, with `merges.txt`
 * or alone (subword/words.c); BERT's `vocab.txt`. A model without any of them reads only ids.
 *
 *     struct tokenizer *tokenizer = NULL;
 *     if (tokenizer_open(&tokenizer, folder, err)) ...
 *     struct tokens tokens;
 *     if (tokenizer_encode(tokenizer, &tokens, text, size, &arena, err)) ...
 *     tokenizer_free(tokenizer);
 */
#pragma once

#include "text/token_list.h"

struct buf;
struct folder;
struct added_tokens;   /* defined in text/token_set.h */
struct token_bytes;    /* defined in text/label.h */
struct token_decoder;  /* defined in text/decoder.h */
struct text_templates; /* defined in text/post_processor.h */
struct tokenizer;

/* Roles of tokens in tokenizer_config.json. */
enum token_role { ROLE_BOS, ROLE_EOS, ROLE_MASK, TOKEN_ROLES };

/* The names of all files that a tokenizer may have; tokenizer_open searches in their order. */
enum { TOKENIZER_FILES = 15 };

const char *tokenizer_file_name(size_t index);

/* Open the folder's tokenizer, or set `*tokenizer` to NULL if it has none. Errors name the file and
 * the key, id or line. The caller frees the tokenizer. The folder is needed only during
 * this call. */
int tokenizer_open(struct tokenizer **tokenizer, const struct folder *folder, struct err *err);
void tokenizer_free(struct tokenizer *tokenizer);

/* tokenizer_open for callers that can also read ids: an unsupported tokenizer is no error, but sets
 * `*tokenizer` to NULL, and `why` to the reason; else `why` is "". */
enum { TOKENIZER_WHY_BYTES = ERR_TEXT_BYTES };

int tokenizer_open_if_known(struct tokenizer **tokenizer, const struct folder *folder,
                            char why[TOKENIZER_WHY_BYTES], struct err *err);

/* The tokenizer of the source texts of Marian or M2M-100; else `tokenizer`, which may be NULL. */
const struct tokenizer *tokenizer_of_source(const struct tokenizer *tokenizer);

/* True if the words of a vocab.json without merges.txt are pieces of a byte-level BPE: with the
 * merges, texts would be split differently. */
bool tokenizer_lacks_merges(const struct tokenizer *tokenizer);

/* Refuse a tokenizer with a word whose id is not below `vocab_size`; accept NULL. (Added tokens are
 * refused when they are used.) */
int tokenizer_check_ids(const struct tokenizer *tokenizer, const struct folder *folder,
                        size_t vocab_size, struct err *err);

/* Encode special tokens in texts, such as <|endoftext|>, as text from now on. */
void tokenizer_literal_special(struct tokenizer *tokenizer);

/* Begin every text with BOS from now on; a later tokenizer_add_special replaces that. BOS is the
 * `bos_token` of the folder's tokenizer_config.json, which must be in the vocabulary, else the
 * `bos_token_id` of its config.json, else the first of <|endoftext|>, <|begin_of_text|>, <s>, <bos>
 * and [BOS], if they are in the vocabulary. It is an error if there is none. */
int tokenizer_begin_texts(struct tokenizer *tokenizer, const struct folder *folder,
                          struct err *err);

/* Find the BOS of tokenizer_begin_texts, if there is one. */
int tokenizer_find_begin(uint32_t *begin, bool *found, const struct tokenizer *tokenizer,
                         const struct folder *folder, struct err *err);

/* From now on, put special tokens around every text: as the post_processor says or, for files
 * without one, as the class of the tokenizer in transformers does.
 * `add_bos_token` and `add_eos_token` of tokenizer_config.json switch BOS and EOS on or off;
 * without them, a tokenizer.model with a class like Llama's adds BOS. tokenizer_special returns the
 * templates. */
int tokenizer_add_special(struct tokenizer *tokenizer, struct err *err);
int tokenizer_special(struct text_templates *templates, const struct tokenizer *tokenizer,
                      struct err *err);

/* Get the numbers of special tokens that are added to each text: before it and after it. */
void tokenizer_adds(const struct tokenizer *tokenizer, size_t *before, size_t *after);

/* Split a text into tokens, stored in `arena`. Bytes that are not UTF-8 are an error, and so is an
 * unknown word if the vocabulary has no unknown token, except for BPE: it drops characters. */
int tokenizer_encode(const struct tokenizer *tokenizer, struct tokens *tokens, const char *text,
                     size_t size, struct arena *arena, struct err *err);

/* True if the tokenizer can join two texts: a template for pairs has special tokens, or the
 * tokenizer is of the kind "words". */
bool tokenizer_joins(const struct tokenizer *tokenizer);

/* Split two texts into tokens with segments, joined by the current template for pairs. Offsets are
 * relative to the text that the token comes from; a special token that is added has the offset of
 * the end of the text before it, or 0 if there is none. `dropped_first->id` is the index of the
 * text with the first dropped character. It is an error if tokenizer_joins returns false. */
int tokenizer_encode_pair(const struct tokenizer *tokenizer, struct tokens *tokens,
                          const struct token_bytes *texts, struct arena *arena, struct err *err);

/* tokenizer_encode without special tokens around the text. */
int tokenizer_encode_alone(const struct tokenizer *tokenizer, struct tokens *tokens,
                           const char *text, size_t size, struct arena *arena, struct err *err);

/* Encode a text of any size as tokenizer_encode does, and pass all tokens to the list's sink. The
 * caller releases the list. */
int tokenizer_stream(const struct tokenizer *tokenizer, struct token_list *list, const char *text,
                     size_t size, struct err *err);

/* tokenizer_token returns the bytes of a token for people ("▁the" is " the"), not 0-terminated and
 * valid as long as the tokenizer, or NULL for an unknown id; tokenizer_size the largest id + 1. */
const char *tokenizer_token(const struct tokenizer *tokenizer, uint32_t id, size_t *size);
size_t tokenizer_size(const struct tokenizer *tokenizer);

/* Decode ids to a text: call tokenizer_decode_begin, tokenizer_decode for each id (false: the id is
 * unknown), token_decoder_end and token_decoder_release. */
void tokenizer_decode_begin(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                            struct buf *out);
bool tokenizer_decode(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                      uint32_t id);

/* The token that hides a word of a text from a model that predicts it: `mask_token` of the folder's
 * tokenizer_config.json, else [MASK] or <mask> of the vocabulary; -1: none. */
int tokenizer_find_mask(long long *mask, const struct tokenizer *tokenizer, struct err *err);

/* The unknown token of the model, such as [UNK]; false: there is none. */
bool tokenizer_unknown(const struct tokenizer *tokenizer, uint32_t *id);

/* Append the names of the stages of encoding, for the command `info`; nothing for the kind
 * "words". */
void tokenizer_stages(const struct tokenizer *tokenizer, struct buf *out);

/* Find the id of the token with a role. */
int tokenizer_role(const struct tokenizer *tokenizer, enum token_role role, uint32_t *id,
                   bool *found, struct err *err);

struct tokenizer_facts {
    const char *file;     /* name of the file with the vocabulary or, for Marian and M2M-100, with
                           * the pieces */
    const char *kind;     /* kind of the tokenizer, such as "words" or "byte-level BPE" */
    const char *gap;      /* the text between two tokens when they are joined: "" or a space */
    const char *prefix;   /* the prefix of WordPiece's tokens that continue a word, "##"; NULL:
                           * none */
    long long truncation; /* other programs truncate a text to this many tokens; 0: no limit */
    bool pads;            /* other programs pad short texts; this one neither truncates nor pads */
    const struct added_tokens *added;
};

const struct tokenizer_facts *tokenizer_facts(const struct tokenizer *tokenizer);
