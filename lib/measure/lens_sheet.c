/* lens_sheet.c: a lens as sheets, layers by tokens, and as JSON. */
#include <math.h>

#include "math/portable_math.h"
#include "lens/continuation.h"
#include "measure/logit_lens.h"
#include "text/label.h"
#include "write/json_report.h"

const struct lens_number_row lens_numbers[LENS_NUMBERS] = {
    [LENS_BEST] = {"best", "the most likely token, and its probability"},
    [LENS_ID] = {"id", "the id of that token"},
    [LENS_ENTROPY] = {"entropy", "of all tokens, in nats"},
    [LENS_KL] = {"kl", "the divergence from what the model says at last, in nats"},
    [LENS_RANK] = {"rank", "of --target, else of the next token; 1 is the most likely"},
    [LENS_TARGET] = {"target", "the probability of that token"},
};

static float probability(float logprob)
{
    return isnan(logprob) ? NAN : exp_float(logprob);
}

static float number_of(const struct lens_cell *cell, enum lens_number number)
{
    switch (number) {
    case LENS_BEST:
        return probability(cell->best->logprob);
    case LENS_ID:
        return (float)cell->best->id;
    case LENS_ENTROPY:
        return cell->entropy;
    case LENS_KL:
        return cell->kl;
    case LENS_RANK:
        return cell->rank ? (float)cell->rank : NAN;
    case LENS_TARGET:
        return probability(cell->target);
    case LENS_NUMBERS:
        break;
    }
    return NAN;
}

/* What stands in the cells: the most likely tokens. */
static const char *const *make_texts(const struct logit_lens *lens,
                                     const struct text_origin *origin, struct arena *arena,
                                     struct err *err)
{
    size_t cells = lens->layers.count * lens->tokens;
    const char **texts = arena_alloc(arena, cells, sizeof *texts, err);
    for (size_t i = 0; texts && i < cells; i++) {
        struct label label;
        if (label_of_word(&label, origin->viewer->tokenizer, lens->cells[i].best->id, arena, err))
            return NULL;
        texts[i] = label.text;
    }
    return texts;
}

static const struct label *label_layers(const struct layers *layers, struct arena *arena,
                                        struct err *err)
{
    struct label *labels = arena_alloc(arena, layers->count, sizeof *labels, err);
    for (size_t i = 0; labels && i < layers->count; i++) {
        const char *text = arena_format(arena, err, "%zu", layers->items[i]);
        if (!text)
            return NULL;
        labels[i] = (struct label){text, text, text};
    }
    return labels;
}

static int make_sheet(struct sheet *sheet, const struct logit_lens *lens, enum lens_number number,
                      struct arena *arena, struct err *err)
{
    size_t cells = lens->layers.count * lens->tokens;
    float *values = arena_alloc(arena, cells, sizeof *values, err);
    if (!values)
        return -1;
    for (size_t i = 0; i < cells; i++)
        values[i] = number_of(&lens->cells[i], number);
    sheet->tensor = lens_numbers[number].name;
    sheet->whole = number == LENS_RANK || number == LENS_ID;
    sheet->values = values;
    return 0;
}

int lens_report(struct report *report, const struct logit_lens *lens, unsigned numbers,
                const struct text_origin *origin, const struct tokenized *sentence,
                struct arena *arena, struct err *err)
{
    struct sheet *sheets = arena_alloc(arena, LENS_NUMBERS, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, LENS_NUMBERS, sizeof *kept, err);
    const struct label *layers = label_layers(&lens->layers, arena, err);
    if (!sheets || !kept || !layers)
        return -1;
    *report = text_origin_report(origin, sentence);
    report->tensors = kept;
    for (int number = 0; number < LENS_NUMBERS; number++) {
        struct sheet *sheet = &sheets[report->tensor_count];
        if (!(numbers >> number & 1))
            continue;
        *sheet = (struct sheet){
            .layer = -1,
            .head = -1,
            .rows = {"layer", lens->layers.count, layers, 0},
            .columns = {"token", lens->tokens, sentence->labels, 0},
        };
        if (make_sheet(sheet, lens, (enum lens_number)number, arena, err))
            return -1;
        sheet->title = arena_format(arena, err, "logit lens: %s",
                                    number == LENS_BEST ? "most likely token" : sheet->tensor);
        if (!sheet->title)
            return -1;
        sheet->beside_texts = number == LENS_BEST ? "probability" : NULL;
        if (number == LENS_BEST && !(sheet->texts = make_texts(lens, origin, arena, err)))
            return -1;
        kept[report->tensor_count++] = kept_made(sheet);
    }
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_cell(struct json_writer *json, const struct logit_lens *lens,
                     const struct text_origin *origin, const struct lens_cell *cell)
{
    json_put_open(json, "\n   ", '{');
    text_origin_json_best(json, origin, cell->best, lens->best_count);
    json_put_float(json, "entropy", cell->entropy);
    json_put_float(json, "kl", cell->kl);
    json_put_float(json, "target_rank", cell->rank ? (float)cell->rank : NAN);
    json_put_float(json, "target_logprob", cell->target);
    json_put_close(json, '}');
}

void lens_json_write(struct stream *out, const struct logit_lens *lens,
                     const struct text_origin *origin, const struct tokenized *sentence,
                     const struct place *place, bool lines)
{
    struct json_writer json = {.stream = out, .one_line = lines};
    text_origin_json_begin(&json, JSON_FORMAT("lens"), origin, sentence, place);
    json_put_text(&json, "\n site", site_rows[lens->site].name);
    json_put_open(&json, "\n layers", '[');
    for (size_t layer = 0; layer < lens->layers.count; layer++) {
        json_put_open(&json, "\n  ", '{');
        json_put_integer(&json, "layer", (long long)lens->layers.items[layer]);
        json_put_open(&json, "tokens", '[');
        for (size_t token = 0; token < lens->tokens; token++)
            put_cell(&json, lens, origin, &lens->cells[layer * lens->tokens + token]);
        json_put_close(&json, ']');
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    text_origin_json_end(&json, place);
}
