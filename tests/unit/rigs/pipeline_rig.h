/* pipeline_rig.h: tokenizers from JSON texts, and the tokens of texts as a line: a token is
 * `id:start-end`; `!2@3-5` at the end: two characters were dropped, the first at 3-5.
 *
 *     static const struct pipeline_case cases[] = {{JSON, "hi hi", "3:0-2 4:2-5"}};
 *     pipeline_rig_expect_all(cases, COUNT(cases));
 */
#pragma once

#include "base/buf.h"
#include "base/file.h"
#include "text/encoder.h"

/* Open a tokenizer.json in the folder `test`; returns the result of tokenizer_fill(). */
int pipeline_rig_open(struct tokenizer *pipeline, const char *json, struct err *err);

/* Append the tokens of a text; with `plain`, special tokens are text. */
int pipeline_rig_encode(const struct tokenizer *pipeline, struct buf *line,
                        const struct token_text *text, struct err *err);

void pipeline_rig_expect(const struct tokenizer *pipeline, const char *text, const char *tokens);
void pipeline_rig_expect_plain(const struct tokenizer *pipeline, const char *text,
                               const char *tokens);

struct pipeline_case {
    const char *json;
    const char *text;
    const char *tokens;
};

void pipeline_rig_expect_all(const struct pipeline_case *cases, size_t count);

/* Open and encode while each allocation in turn fails: the result is that error, or the tokens. */
void pipeline_rig_starve(const char *json, const char *text, const char *tokens);

/* Compare the characters of a normalized text with their positions, `e:0-1 ▁:1-1`, or the pieces of
 * pre-tokenizers after normalizers (NULL: none), `Hello:0-5|,:5-6`. */
void pipeline_rig_expect_normal(const char *normalizer, const char *text, const char *characters);
void pipeline_rig_expect_pieces(const char *normalizer, const char *pre_tokenizer, const char *text,
                                const char *pieces);
