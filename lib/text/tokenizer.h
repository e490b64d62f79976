/* tokenizer.h: from a text to ids and back, by the first of these files in a model's folder:
 * `tokenizer.json`; `tokenizer.model`, SentencePiece's; `merges.txt` with `vocab.json`
 * (pipeline.h); `vocab.json` alone, words (words.c). A folder without any is served by ids.
 *
 *     struct tokenizer *tokenizer = NULL;
 *     if (tokenizer_open(&tokenizer, folder, err)) ...
 *     struct tokens tokens;
 *     if (tokenizer_encode(tokenizer, &tokens, text, size, &arena, err)) ...
 *     tokenizer_free(tokenizer);
 */
#ifndef ATTN_TEXT_TOKENIZER_H
#define ATTN_TEXT_TOKENIZER_H

#include "text/token_list.h"

struct buf;
struct folder;
struct added_tokens;  /* text/token_set.h */
struct special_ids;   /* text/post_processor.h */
struct token_bytes;   /* text/label.h */
struct token_decoder; /* text/decoder.h */
struct tokenizer;

enum token_role { ROLE_BOS, ROLE_EOS, ROLE_MASK, TOKEN_ROLES }; /* of tokenizer_config.json */

/* The names of all files that make a folder's tokenizer, here and in other programs, in the order
 * in which they are looked for. */
enum { TOKENIZER_FILES = 8 };

const char *tokenizer_file_name(size_t index);

/* Open the folder's tokenizer, NULL where it has none; errors name the file, and the key, the id or
 * the line. The caller frees it; the folder's files need not stay open. */
int tokenizer_open(struct tokenizer **tokenizer, const struct folder *folder, struct err *err);
void tokenizer_free(struct tokenizer *tokenizer);

/* The same where ids will do as well: of a tokenizer that is there and not supported `why` says
 * what is missing, and there is none; else it is "". */
enum { TOKENIZER_WHY_BYTES = ERR_TEXT_BYTES };

int tokenizer_open_if_known(struct tokenizer **tokenizer, const struct folder *folder,
                            char why[TOKENIZER_WHY_BYTES], struct err *err);

/* True where the words of a vocab.json alone are the pieces of a byte-level BPE, so that a text is
 * cut otherwise than with its merges.txt. */
bool tokenizer_lacks_merges(const struct tokenizer *tokenizer);

/* Refuse a vocabulary, which may be NULL, with a word for which the folder's model has no row.
 * (Added tokens are refused where they are used.) */
int tokenizer_check_ids(const struct tokenizer *tokenizer, const struct folder *folder,
                        size_t vocab_size, struct err *err);

/* From now on special tokens in a text, such as <|endoftext|>, are text. */
void tokenizer_spell_special(struct tokenizer *tokenizer);

/* From now on every text begins with BOS; called after tokenizer_add_special, if at all. BOS is the
 * `bos_token` of the folder's tokenizer_config.json, else the `bos_token_id` of its config.json,
 * else the first of <|endoftext|>, <|begin_of_text|>, <s>, <bos> and [BOS] in the vocabulary.
 * Refused if there is none. */
int tokenizer_begin_texts(struct tokenizer *tokenizer, const struct folder *folder,
                          struct err *err);

/* That token, if there is one. */
int tokenizer_find_begin(uint32_t *begin, bool *found, const struct tokenizer *tokenizer,
                         const struct folder *folder, struct err *err);

/* From now on every text stands between the tokens that the tokenizer's own program puts around it:
 * those of its post_processor, less or more those of which tokenizer_config.json says
 * `add_bos_token` or `add_eos_token`, or a class of Llama's kind for a tokenizer.model. And those
 * ids. */
int tokenizer_add_special(struct tokenizer *tokenizer, struct err *err);
int tokenizer_special(struct special_ids *ids, const struct tokenizer *tokenizer, struct err *err);

/* How many special tokens are added to each text, at its start and at its end. */
void tokenizer_adds(const struct tokenizer *tokenizer, size_t *before, size_t *after);

/* Cut a text into tokens, kept in `arena`. Refused: bytes that are not UTF-8, and a word that is no
 * entry where the vocabulary has no word for the unknown. */
int tokenizer_encode(const struct tokenizer *tokenizer, struct tokens *tokens, const char *text,
                     size_t size, struct arena *arena, struct err *err);

/* Cut two texts into tokens with segments, joined as the post_processor joins a pair. Offsets count
 * in a token's own text; added special tokens are at the end of the text before them. The id of
 * `dropped_first` is the index of its text. Refused if the tokenizer has no template for pairs. */
int tokenizer_encode_pair(const struct tokenizer *tokenizer, struct tokens *tokens,
                          const struct token_bytes *texts, struct arena *arena, struct err *err);

/* A text as it stands, whatever else texts begin with or stand between. */
int tokenizer_encode_alone(const struct tokenizer *tokenizer, struct tokens *tokens,
                           const char *text, size_t size, struct arena *arena, struct err *err);

/* As tokenizer_encode, for a text of any size: all tokens go to the list's sink; the caller
 * releases the list. */
int tokenizer_stream(const struct tokenizer *tokenizer, struct token_list *list, const char *text,
                     size_t size, struct err *err);

/* The bytes of a token, not 0-terminated, valid as long as the tokenizer, NULL when the id is no
 * entry; one more than the largest id. */
const char *tokenizer_token(const struct tokenizer *tokenizer, uint32_t id, size_t *size);
size_t tokenizer_size(const struct tokenizer *tokenizer);

/* How many tokens its file would leave of a text, 0: all, and whether it would put others after a
 * short one: nothing here does. */
long long tokenizer_truncation(const struct tokenizer *tokenizer);
bool tokenizer_pads(const struct tokenizer *tokenizer);

/* From ids back to a text: begin, put token after token, and end. The first returns false for an id
 * that is no entry. */
void tokenizer_decode_begin(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                            struct buf *out);
bool tokenizer_decode(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                      uint32_t id);

/* The token that hides a word of a text from a model that predicts it: `mask_token` of the folder's
 * tokenizer_config.json, else [MASK] or <mask> of the vocabulary; -1: none. */
int tokenizer_find_mask(long long *mask, const struct tokenizer *tokenizer, struct err *err);

/* What `info` says of it: the file it was opened from (vocab.json stands for merges.txt, too);
 * the stages that a text goes through, "" of words alone; the id of `bos_token` or `eos_token`; and
 * the added tokens by id. */
const char *tokenizer_file(const struct tokenizer *tokenizer);
void tokenizer_stages(const struct tokenizer *tokenizer, struct buf *out);
int tokenizer_role(const struct tokenizer *tokenizer, enum token_role role, uint32_t *id,
                   bool *found, struct err *err);
const struct added_tokens *tokenizer_added(const struct tokenizer *tokenizer);

/* What stands between two tokens of a text that is put together again, "" or a blank; the sign of
 * WordPiece's tokens that go on a word, "##", NULL where there is none; and what it is, for `info`:
 * "words", "byte-level BPE". */
const char *tokenizer_gap(const struct tokenizer *tokenizer);
const char *tokenizer_prefix(const struct tokenizer *tokenizer);
const char *tokenizer_kind(const struct tokenizer *tokenizer);

#endif
