/* post_processor.h: the tokens that a tokenizer's own program puts around a text: those of the
 * template for one text, or of RobertaProcessing and BertProcessing.
 */
#ifndef ATTN_TEXT_POST_PROCESSOR_H
#define ATTN_TEXT_POST_PROCESSOR_H

#include <stdint.h>

#include "base/memory.h"

enum { SPECIAL_IDS_MAX = 8 }; /* on each side */

struct json;

/* Ids before a text, and after it. */
struct special_ids {
    uint32_t before[SPECIAL_IDS_MAX];
    uint32_t after[SPECIAL_IDS_MAX];
    size_t before_count, after_count;
};

/* Read the value of `post_processor`, a Sequence or one; NULL and null: no tokens. */
int post_processor_read(struct special_ids *ids, const struct json *value, struct err *err);

/* What `add_bos_token` and `add_eos_token` of a tokenizer_config.json make of them: the token is
 * there, or it is not. */
void special_ids_set_first(struct special_ids *ids, uint32_t id, bool wanted);
void special_ids_set_last(struct special_ids *ids, uint32_t id, bool wanted);

#endif
