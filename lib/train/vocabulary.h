/* vocabulary.h: vocabularies learnt from texts: byte-level BPE, and words. The memory of the texts
 * must stay valid.
 *
 *     struct bpe_learner learner = {0};
 *     if (bpe_learner_add(&learner, text, size, err)) ...      for each text
 *     if (bpe_learner_run(&learner, 1500, err)) ...
 *     bpe_learner_vocab(&learner, &json);                      vocab.json
 *     bpe_learner_merges(&learner, &lines);                    merges.txt
 *     bpe_learner_release(&learner);
 */
#pragma once

#include "base/hash.h"
#include "base/memory.h"
#include "base/progress_sink.h"
#include "text/word_table.h"

struct buf;

/* --- byte-level BPE, as for GPT-2, whose pattern (matcher.h) cuts texts into pieces: in each step,
 * the most frequent pair of adjacent tokens of a piece becomes a token; of equally frequent pairs,
 * the pair with the lowest ids. */

enum { BPE_LEARN_BYTES = 256, BPE_LEARN_MAX = 65536 };

struct bpe_learner {
    struct hash_table numbers; /* index of each piece, by its bytes */
    struct arena arena;        /* memory of all fields except `numbers` and `pairs` */
    struct learn_piece *pieces;
    size_t piece_count;
    uint32_t *symbols; /* the token ids of all pieces; the ids of a piece begin at index
                        * piece->first */
    struct learn_pair *pairs;
    size_t pair_count, pair_slots;
    struct learn_token *tokens; /* [token_count] the 256 bytes, then merged pairs */
    size_t token_count;
    uint32_t signs[BPE_LEARN_BYTES];      /* the characters of the byte alphabet, by token id */
    const struct progress_sink *progress; /* receives the number of tokens learnt so far; NULL: no
                                           * reports */
};

/* Count the pieces of a text. It is an error if the text is not UTF-8; the message has the offset
 * of the first wrong byte. */
int bpe_learner_add(struct bpe_learner *learner, const char *text, size_t size, struct err *err);

/* Learn tokens until there are `size` tokens, where `size` is at least 256, or until no pair occurs
 * twice. */
int bpe_learner_run(struct bpe_learner *learner, size_t size, struct err *err);

/* bpe_learner_vocab appends the contents of vocab.json, bpe_learner_merges appends the contents of
 * merges.txt. As in GPT-2, the first 256 ids are the bytes, in the order of their characters. */
void bpe_learner_vocab(const struct bpe_learner *learner, struct buf *json);
void bpe_learner_merges(const struct bpe_learner *learner, struct buf *lines);

void bpe_learner_release(struct bpe_learner *learner);

/* --- words: enumerate(sorted(set(words))), by bytes ----------------------------------------------
 *
 * A word is a run of letters, marks and digits; an apostrophe or a hyphen between two of them
 * belongs to it: `don't`. In scripts without spaces, such as Han, each character is a word, unless
 * the line has spaces between two of them: 我爱自然语言处理 has eight words, 我 爱 自然
 * 语言 处理 five. Use word_list_add, word_list_sort and word_list_json in this order. */

struct word_list {
    struct word *words;
    size_t count;
    struct arena arena;
    struct word unspaced; /* the first run of two or more characters of a script without spaces that
                           * was split into words; empty: no run was split */
};

/* Add the words of a text in their order. It is an error if the text is not UTF-8; the message has
 * the offset of the first wrong byte. */
int word_list_add(struct word_list *list, const char *text, size_t size, struct err *err);

/* word_list_sort sorts the words and removes duplicates. word_list_json then appends a vocab.json
 * in which the id of a word is its index. */
void word_list_sort(struct word_list *list);
void word_list_json(struct buf *out, const struct word_list *list);

void word_list_release(struct word_list *list);
