/* pipeline_rig.h: tokenizers of texts that stand in a test, and what they make of others, in lines
 * that are easily compared: a token is `id:start-end`; `!2@3-5` follows when two characters were
 * dropped, the first of which stands there.
 *
 *     static const struct pipeline_case cases[] = {{JSON, "hi hi", "3:0-2 4:2-5"}};
 *     pipeline_rig_expect_all(cases, COUNT(cases));
 */
#ifndef ATTN_TESTS_PIPELINE_RIG_H
#define ATTN_TESTS_PIPELINE_RIG_H

#include "base/buf.h"
#include "base/folder.h"
#include "text/encoder.h"

/* A tokenizer.json, in the folder `test`; may fail, as a pipeline's opening may. */
int pipeline_rig_open(struct pipeline *pipeline, const char *json, struct err *err);

/* Append a text's tokens; with `plain` special tokens are text. */
int pipeline_rig_encode(const struct pipeline *pipeline, struct buf *line,
                        const struct token_text *text, struct err *err);

void pipeline_rig_expect(const struct pipeline *pipeline, const char *text, const char *tokens);
void pipeline_rig_expect_plain(const struct pipeline *pipeline, const char *text,
                               const char *tokens);

struct pipeline_case {
    const char *json;
    const char *text;
    const char *tokens;
};

void pipeline_rig_expect_all(const struct pipeline_case *cases, size_t count);

/* What a tokenizer.json is refused with, after the name of the file. */
struct pipeline_refusal {
    const char *json;
    const char *message;
};

void pipeline_rig_refuse_all(const struct pipeline_refusal *cases, size_t count,
                             enum err_kind kind);

/* Let one allocation after the other fail, of opening and of encoding: each time that is the error,
 * or all is as if it had not failed. */
void pipeline_rig_starve(const char *json, const char *text, const char *tokens);

/* What normalizers make of a text, a line of its characters with their places, `e:0-1 ▁:1-1`;
 * and what pre-tokenizers, after normalizers (NULL: none), cut it into, `Hello:0-5|,:5-6`. */
void pipeline_rig_expect_normal(const char *normalizer, const char *text, const char *characters);
void pipeline_rig_expect_pieces(const char *normalizer, const char *pre_tokenizer, const char *text,
                                const char *pieces);

#endif
