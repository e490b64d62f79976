#include "pipeline_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "format/json.h"
#include "starve.h"

/* --- tokens ----------------------------------------------------------------------------------- */

int pipeline_rig_open(struct tokenizer *pipeline, const char *json, struct err *err)
{
    const struct folder_file file = {"tokenizer.json", json, strlen(json)};
    const struct folder folder = {"test", &file, 1};
    return tokenizer_fill(pipeline, &folder, err);
}

int pipeline_rig_encode(const struct tokenizer *pipeline, struct buf *line,
                        const struct token_text *text, struct err *err)
{
    struct token_list list = {0};
    struct encoder encoder = {.tokenizer = pipeline, .list = &list};
    int failed = encoder_run(&encoder, text, err);
    buf_text(line, "");
    for (size_t i = 0; i < list.count; i++)
        buf_format(line, "%s%u:%zu-%zu", i ? " " : "", list.items[i].id, list.items[i].start,
                   list.items[i].end);
    if (list.dropped_count)
        buf_format(line, "%s!%zu@%zu-%zu", list.count ? " " : "", list.dropped_count,
                   list.dropped_first.start, list.dropped_first.end);
    encoder_release(&encoder);
    token_list_release(&list);
    return failed;
}

static void expect(const struct tokenizer *pipeline, const struct token_text *text,
                   const char *tokens)
{
    struct buf line = {0};
    struct err err = {0};
    int failed = pipeline_rig_encode(pipeline, &line, text, &err);
    ck_assert_msg(!failed, "'%s': %s", text->bytes, err.text);
    ck_assert_msg(strcmp(line.bytes, tokens) == 0, "'%s': expected %s, found %s", text->bytes,
                  tokens, line.bytes);
    buf_release(&line);
}

void pipeline_rig_expect(const struct tokenizer *pipeline, const char *text, const char *tokens)
{
    expect(pipeline, &(struct token_text){text, strlen(text), false}, tokens);
}

void pipeline_rig_expect_plain(const struct tokenizer *pipeline, const char *text,
                               const char *tokens)
{
    expect(pipeline, &(struct token_text){text, strlen(text), true}, tokens);
}

void pipeline_rig_expect_all(const struct pipeline_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tokenizer pipeline;
        struct err err = {0};
        ck_assert_msg(!pipeline_rig_open(&pipeline, cases[i].json, &err), "%s: %s", cases[i].json,
                      err.text);
        pipeline_rig_expect(&pipeline, cases[i].text, cases[i].tokens);
        tokenizer_release(&pipeline);
    }
}

void pipeline_rig_starve(const char *json, const char *text, const char *tokens)
{
    struct token_text whole = {text, strlen(text), false};
    struct starve starve = {.least = 10};
    while (starve_next(&starve)) {
        struct tokenizer pipeline = {0};
        struct buf line = {0};
        struct err err = {0};
        int failed = pipeline_rig_open(&pipeline, json, &err) ||
                     pipeline_rig_encode(&pipeline, &line, &whole, &err);
        if (!starve_check(&starve, failed, &err) && !buf_check(&line, NULL))
            ck_assert_str_eq(line.bytes, tokens);
        buf_release(&line);
        tokenizer_release(&pipeline);
    }
}

/* --- characters and pieces -------------------------------------------------------------------- */

static struct json *parse(const char *text)
{
    struct json *json = NULL;
    struct err err = {0};
    ck_assert_msg(!text || !json_parse(&json, text, strlen(text), &err), "%s: %s", text, err.text);
    return json;
}

static void open_stages(struct tokenizer *pipeline, const char *normalizer,
                        const char *pre_tokenizer)
{
    struct json *first = parse(normalizer);
    struct json *second = parse(pre_tokenizer);
    struct err err = {0};
    struct stage_list one = {&normalizers, &pipeline->arena, &pipeline->normalizers};
    struct stage_list two = {&pre_tokenizers, &pipeline->arena, &pipeline->pre_tokenizers};
    int failed = stages_read(&one, first, &err) || stages_read(&two, second, &err);
    ck_assert_msg(!failed, "%s", err.text);
    json_free(first);
    json_free(second);
}

static void put(struct buf *line, const struct aligned_text *text, struct text_range range)
{
    size_t hint = 0;
    struct text_range place = aligned_text_origin(text, range, &hint);
    buf_bytes(line, text->bytes + range.start, range.end - range.start);
    buf_format(line, ":%zu-%zu", place.start, place.end);
}

void pipeline_rig_expect_normal(const char *normalizer, const char *text, const char *characters)
{
    struct tokenizer pipeline = {0};
    struct aligned_text given = {.bytes = text, .size = strlen(text)};
    struct aligned_text normal;
    struct text_rewriter rewriters[2] = {0};
    struct buf line = {0};
    open_stages(&pipeline, normalizer, NULL);
    ck_assert_int_eq(normalize(pipeline.normalizers, &normal, &given, rewriters, NULL, NULL), 0);
    buf_text(&line, "");
    for (size_t at = 0, length; at < normal.size; at += length) {
        uint32_t c = 0;
        length = utf8_decode(&c, normal.bytes + at, normal.size - at);
        buf_text(&line, at ? " " : "");
        put(&line, &normal, (struct text_range){at, at + length});
    }
    ck_assert_msg(strcmp(line.bytes, characters) == 0, "%s: '%s': expected %s, found %s",
                  normalizer, text, characters, line.bytes);
    buf_release(&line);
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    tokenizer_release(&pipeline);
}

static struct buf pieces;

/* A model that records pieces. */
static int record(const struct subword *model, struct encoder *encoder,
                  const struct text_piece *piece, struct err *err)
{
    (void)model, (void)encoder, (void)err;
    ck_assert_uint_lt(piece->range.start, piece->range.end);
    buf_text(&pieces, pieces.size ? "|" : "");
    put(&pieces, piece->text, piece->range);
    return 0;
}

void pipeline_rig_expect_pieces(const char *normalizer, const char *pre_tokenizer, const char *text,
                                const char *expected)
{
    static const struct subword_row recorder = {.name = "recorder", .encode = record};
    struct tokenizer pipeline = {.model = {.row = &recorder}};
    struct token_text given = {text, strlen(text), false};
    struct encoder encoder = {.tokenizer = &pipeline};
    struct err err = {0};
    open_stages(&pipeline, normalizer, pre_tokenizer);
    buf_clear(&pieces);
    buf_text(&pieces, "");
    ck_assert_msg(!encoder_run(&encoder, &given, &err), "%s", err.text);
    ck_assert_msg(strcmp(pieces.bytes, expected) == 0, "%s: '%s': expected %s, found %s",
                  pre_tokenizer, text, expected, pieces.bytes);
    encoder_release(&encoder);
    buf_release(&pieces);
    tokenizer_release(&pipeline);
}
