/* patching_report.c: patches as sheets, layers by heads or tokens. */
#include "measure/patching.h"
#include "measure/text_origin.h"

const struct patch_number_row patch_numbers[PATCH_NUMBERS] = {
    [PATCH_FRACTION] = {"fraction", "of the answer: 0 as in the corrupt text, 1 as in the clean"},
    [PATCH_LOGIT] = {"logit", "of the answer, or the difference of two"},
};

/* Mary|John: where the texts differ. */
static int label_both(struct label *label, const struct label *clean, const struct label *corrupt,
                      struct arena *arena, struct err *err)
{
    label->text = arena_format(arena, err, "%s|%s", clean->text, corrupt->text);
    label->exact = arena_format(arena, err, "%s|%s", clean->exact, corrupt->text);
    label->plain = arena_format(arena, err, "%s|%s", clean->plain, corrupt->plain);
    return label->text && label->exact && label->plain ? 0 : -1;
}

static const struct label *label_tokens(const struct patching *patching, struct arena *arena,
                                        struct err *err)
{
    const struct tokenized *clean = patching->plan->clean;
    const struct tokenized *corrupt = patching->plan->corrupt;
    struct label *labels = arena_alloc(arena, patching->columns, sizeof *labels, err);
    for (size_t i = 0; labels && i < patching->columns; i++) {
        labels[i] = clean->labels[i];
        if (clean->ids[i] != corrupt->ids[i] &&
            label_both(&labels[i], &clean->labels[i], &corrupt->labels[i], arena, err))
            return NULL;
    }
    return labels;
}

static int make_frame(struct sheet *frame, const struct patching *patching, struct arena *arena,
                      struct err *err)
{
    bool of_heads = site_has_heads(patch_overs[patching->plan->over].site);
    const struct label *numbers = labels_of_numbers(patching->first_layer + patching->layers +
                                                        patching->first_column + patching->columns,
                                                    arena, err);
    const struct label *columns = of_heads ? numbers : label_tokens(patching, arena, err);
    *frame = (struct sheet){.layer = -1, .head = -1};
    if (!numbers || !columns)
        return -1;
    frame->rows = (struct axis){"layer", patching->layers, numbers + patching->first_layer,
                                patching->first_layer};
    frame->columns = (struct axis){of_heads ? "head" : "token", patching->columns,
                                   columns + patching->first_column, patching->first_column};
    return 0;
}

int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    const struct text_origin *origin, struct arena *arena, struct err *err)
{
    size_t cells = patching->layers * patching->columns;
    struct sheet *sheets = arena_alloc(arena, PATCH_NUMBERS, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, PATCH_NUMBERS, sizeof *kept, err);
    struct sheet frame;
    if (!sheets || !kept || make_frame(&frame, patching, arena, err))
        return -1;
    *report = text_origin_report(origin, patching->plan->clean);
    report->corrupt = patching->plan->corrupt;
    report->tensors = kept;
    for (int number = 0; number < PATCH_NUMBERS; number++) {
        struct sheet *sheet = &sheets[report->tensor_count];
        if (!(numbers >> number & 1))
            continue;
        float *values = arena_alloc(arena, cells, sizeof *values, err);
        if (!values)
            return -1;
        for (size_t i = 0; i < cells; i++)
            values[i] =
                (float)(number == PATCH_LOGIT ? patching->logits[i]
                                              : patching_fraction(patching, patching->logits[i]));
        *sheet = frame;
        sheet->tensor = patch_numbers[number].name;
        sheet->values = values;
        kept[report->tensor_count++] = kept_made(sheet);
    }
    return 0;
}
