#include "measure/text_origin.h"

#include "base/buf.h"
#include "lens/continuation.h"
#include "model/mechanism.h"
#include "write/json_report.h"

int text_origin_attends(struct text_origin *origin, struct arena *arena, struct err *err)
{
    struct buf words = {0};
    mechanism_write(&words, &origin->viewer->model.config.mechanism);
    edits_write(&words, origin->viewer->edits);
    const char *mechanism = buf_keep(&words, arena, err);
    origin->mechanism = mechanism && *mechanism ? mechanism : NULL;
    return mechanism ? 0 : -1;
}

int text_origin_check(const struct viewer *viewer, struct err *err)
{
    const struct config *c = &viewer->model.config;
    if (!site_exists(c, SITE_LOGITS))
        return err_unsupported(err, "'%s': a model of type \"%s\" has no logits to attribute",
                               viewer->model.name, config_kind_name(c));
    if (c->cross)
        return err_unsupported(err,
                               "'%s': expected a model of one text, found one that looks at "
                               "a second text, too",
                               viewer->model.name);
    if (!c->causal)
        return err_unsupported(err,
                               "'%s': expected a model whose tokens look back, found one that "
                               "looks ahead",
                               viewer->model.name);
    return 0;
}

struct report text_origin_report(const struct text_origin *origin, const struct tokenized *sentence)
{
    struct report report = {
        .model = origin->viewer->model.name,
        .precision = origin->viewer->model.weights.precision,
        .mechanism = origin->mechanism,
        .sentence = *sentence,
        .has_encoder = true, /* the source is not what the numbers are about */
    };
    if (origin->source)
        report.source = *origin->source;
    return report;
}

void text_origin_json_begin(struct json_writer *json, const char *format,
                            const struct text_origin *origin, const struct tokenized *sentence,
                            const struct place *place)
{
    struct report report = text_origin_report(origin, sentence);
    if (place->count > 1 && !json->one_line)
        stream_text(json->stream, place->index == 0 ? "[" : ",\n");
    json_put_open(json, NULL, '{');
    json_report_begin(json, format, place);
    json_report_origin(json, &report);
    if (origin->hash)
        json_put_text(json, "\n weights_sha256", origin->hash);
}

void text_origin_json_end(struct json_writer *json, const struct place *place)
{
    bool last = place->index + 1 == place->count;
    json_put_close(json, '}');
    if (place->count > 1 && !json->one_line && last)
        stream_char(json->stream, ']');
    if (json->one_line || last)
        stream_char(json->stream, '\n');
}

void text_origin_json_best(struct json_writer *json, const struct text_origin *origin,
                           const struct likely *best, size_t count)
{
    json_put_open(json, "best", '[');
    for (size_t i = 0; best && i < count; i++) {
        size_t size = 0;
        const struct tokenizer *tokenizer = origin->viewer->tokenizer;
        const char *bytes = tokenizer ? tokenizer_token(tokenizer, best[i].id, &size) : NULL;
        json_put_open(json, NULL, '{');
        json_put_integer(json, "id", best[i].id);
        if (bytes) {
            json_put_bytes(json, "text", bytes, size);
            json_report_bytes(json, bytes, size);
        }
        json_put_float(json, "logprob", best[i].logprob);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}
