/* attribution_report.c: the sheets that an attribution is written to. */
#include "measure/attribution.h"

#include "model/config.h"

const struct attribution_way attribution_ways[ATTRIBUTION_WAYS] = {
    [BY_PART] = {"part", "heads, MLPs, biases, embeddings: all cells sum to the logit (default)"},
    [BY_SOURCE] = {"source", "heads by the token that they read from"},
    [BY_NEURON] = {"neuron", "hidden channels of the MLPs"},
};

/* "embed", the layers, "final"; the heads, "mlp", … */
static const struct label *make_labels(const char *const *names, size_t before, size_t between,
                                       size_t after, struct arena *arena, struct err *err)
{
    const struct label *numbers = labels_of_numbers(between, arena, err);
    struct label *labels = arena_alloc(arena, before + between + after, sizeof *labels, err);
    if (!numbers || !labels)
        return NULL;
    for (size_t i = 0; i < before + between + after; i++) {
        if (i >= before && i < before + between) {
            labels[i] = numbers[i - before];
            continue;
        }
        const char *name = names[i < before ? i : i - between];
        labels[i] = (struct label){name, name, name};
    }
    return labels;
}

/* What a sheet's rows and columns are; of no layer. */
static int make_frame(struct sheet *frame, const struct config *c, enum attribution_by by,
                      const struct tokenized *sentence, struct arena *arena, struct err *err)
{
    static const char *const stages[] = {"embed", "final"};
    static const char *const parts[] = {"mlp", "bias", "token", "place"};
    *frame = (struct sheet){.layer = -1, .head = -1, .parts = true};
    switch (by) {
    case BY_SOURCE:
        frame->tensor = "attribution_by_source";
        frame->rows = (struct axis){"head", c->n_head, labels_of_numbers(c->n_head, arena, err), 0};
        frame->columns = (struct axis){"key", sentence->count, sentence->labels, 0};
        break;
    case BY_NEURON:
        frame->tensor = "attribution_by_neuron";
        frame->rows =
            (struct axis){"layer", c->n_layer, labels_of_numbers(c->n_layer, arena, err), 0};
        frame->columns =
            (struct axis){"neuron", c->n_inner, labels_of_numbers(c->n_inner, arena, err), 0};
        break;
    case BY_PART:
    case ATTRIBUTION_WAYS:
        frame->tensor = "attribution";
        frame->rows = (struct axis){"layer", c->n_layer + 2,
                                    make_labels(stages, 1, c->n_layer, 1, arena, err), 0};
        frame->columns =
            (struct axis){"part", c->n_head + ATTRIBUTION_PARTS,
                          make_labels(parts, 0, c->n_head, ATTRIBUTION_PARTS, arena, err), 0};
        break;
    }
    return frame->rows.labels && frame->columns.labels ? 0 : -1;
}

float *attribution_report(struct report *report, const struct viewer *viewer,
                          const struct text_pair *pair, const struct attribution_question *question,
                          struct arena *arena, struct err *err)
{
    const struct config *c = &viewer->model.config;
    const struct text_origin origin = {.viewer = viewer};
    struct tokenized begin = pair->sentence; /* the text up to the position */
    bool by_layer = question->by == BY_SOURCE;
    size_t count = by_layer ? c->n_layer : 1;
    struct sheet frame;
    begin.count = question->position + 1;
    if (begin.text)
        begin.size = begin.tokens[question->position].end;
    if (make_frame(&frame, c, question->by, &begin, arena, err))
        return NULL;
    size_t cells = frame.rows.size * frame.columns.size;
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, count, sizeof *kept, err);
    float *values = arena_alloc(arena, count * cells, sizeof *values, err);
    if (!sheets || !kept || !values)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        sheets[i] = frame;
        sheets[i].layer = by_layer ? (int)i : -1;
        sheets[i].values = values + i * cells;
        kept[i] = kept_made(&sheets[i]);
    }
    *report = text_origin_report(&origin, &begin);
    report->tensors = kept;
    report->tensor_count = count;
    return values;
}
