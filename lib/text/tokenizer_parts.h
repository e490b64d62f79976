/* tokenizer_parts.h: what a tokenizer is made of, for the files that are one (tokenizer.c,
 * tokenizer_facts.c).
 */
#ifndef ATTN_TEXT_TOKENIZER_PARTS_H
#define ATTN_TEXT_TOKENIZER_PARTS_H

#include "base/folder.h"
#include "text/pipeline.h"
#include "text/shown_tokens.h"
#include "text/tokenizer_config.h"
#include "text/words.h"

struct tokenizer {
    const char *file; /* with its words */
    bool is_words;    /* the one of these two that is filled */
    struct vocabulary vocabulary;
    struct pipeline pipeline;
    const struct token_set *set; /* of that one */
    struct shown_tokens shown;
    struct tokenizer_config config;
    bool spells_special;
    bool begins_texts;
    uint32_t begin;             /* what texts begin with */
    struct special_ids special; /* what goes around texts */
};

#endif
