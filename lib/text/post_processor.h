/* post_processor.h: templates of the special tokens around a text, and around the two texts of a
 * pair, as the `post_processor` of a tokenizer.json defines them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum { TEMPLATE_PARTS_MAX = 32 };

#define TEMPLATE_UNLISTED UINT32_MAX /* the id of a token that special_tokens lacks */

/* A part of a template: a text, whose kind is its index in the list of texts, or a special
 * token. */
struct template_part {
    enum template_kind { TEMPLATE_FIRST, TEMPLATE_SECOND, TEMPLATE_SPECIAL } kind;
    uint32_t id;           /* id of a special token */
    unsigned char segment; /* segment of the part's tokens (type_id) */
};

struct text_template {
    struct template_part parts[TEMPLATE_PARTS_MAX];
    size_t count;
};

struct text_templates {
    struct text_template single, pair; /* templates for one text, and for two */
};

/* Templates without special tokens; the texts of a pair have the segments 0 and 1. */
extern const struct text_templates text_templates_plain;

/* The number of tokens before the text of a template; the text is the next part. */
size_t text_template_before(const struct text_template *single);

/* If `wanted`, make the token `id` the first token of the templates or, if `last`, the last token;
 * otherwise remove it from there. In a pair, do so at each text. Used for `add_bos_token` and
 * `add_eos_token` of a tokenizer_config.json. */
void text_templates_set(struct text_templates *templates, uint32_t id, bool wanted, bool last);
