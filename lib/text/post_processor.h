/* post_processor.h: the tokens that a tokenizer's own program puts around a text, and around the
 * two texts of a pair: those of the templates, or of RobertaProcessing and BertProcessing.
 */
#ifndef ATTN_TEXT_POST_PROCESSOR_H
#define ATTN_TEXT_POST_PROCESSOR_H

#include <stdint.h>

#include "base/memory.h"

enum { SPECIAL_IDS_MAX = 8 }; /* on each side */
enum { PAIR_PARTS_MAX = 32 };
#define PAIR_UNLISTED UINT32_MAX /* the id of a token that special_tokens lacks */

struct json;

enum pair_kind { PAIR_FIRST, PAIR_SECOND, PAIR_SPECIAL };

/* A text of a pair, or a special token. */
struct pair_part {
    enum pair_kind kind;
    uint32_t id;           /* of a special token */
    unsigned char segment; /* of its tokens: the type id */
};

struct pair_template {
    struct pair_part parts[PAIR_PARTS_MAX];
    size_t count;
};

/* Ids before a text, and after it; and how two texts are joined. */
struct special_ids {
    uint32_t before[SPECIAL_IDS_MAX];
    uint32_t after[SPECIAL_IDS_MAX];
    size_t before_count, after_count;
    struct pair_template pair;
};

/* No special tokens: a pair is its two texts, in segments 0 and 1. */
extern const struct special_ids special_ids_none;

/* The same without special tokens; texts of a pair keep their segments. */
struct special_ids special_ids_without(const struct special_ids *ids);

/* Read the value of `post_processor`, a Sequence or one; NULL and null: no tokens. */
int post_processor_read(struct special_ids *ids, const struct json *value, struct err *err);

/* What `add_bos_token` and `add_eos_token` of a tokenizer_config.json make of them: the token is
 * there, or it is not; in a pair, next to each text. */
void special_ids_set_first(struct special_ids *ids, uint32_t id, bool wanted);
void special_ids_set_last(struct special_ids *ids, uint32_t id, bool wanted);

#endif
