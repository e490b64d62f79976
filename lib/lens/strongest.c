#include "lens/strongest.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "lens/frame.h"

static void offer(struct strongest *list, const struct strong_cell *one)
{
    size_t at = list->count;
    while (at > 0 && fabsf(list->cells[at - 1].value) < fabsf(one->value))
        at--;
    if (at == STRONGEST_MAX)
        return;
    list->count += list->count < STRONGEST_MAX;
    for (size_t i = list->count - 1; i > at; i--)
        list->cells[i] = list->cells[i - 1];
    list->cells[at] = *one;
}

void strongest_add(struct strongest *list, const struct sheet *sheet)
{
    struct strong_cell one = {.sheet = *sheet};
    for (one.row = 0; one.row < sheet->rows.size; one.row++)
        for (one.column = 0; one.column < sheet->columns.size; one.column++) {
            one.value = sheet_cell(sheet, one.row, one.column);
            if (isfinite(one.value) && one.value != 0 && !sheet_hides(sheet, one.row, one.column))
                offer(list, &one);
        }
}

static void add_word(struct buf *out, const char *word)
{
    buf_format(out, "%s%s", out->size ? " " : "", word);
}

/* A number says what of; the parts of a layer that have numbers are its heads. */
static void add_label(struct buf *out, const struct axis *axis, size_t index)
{
    const char *text = axis->labels[index].text;
    if (strcmp(axis->name, "key") == 0)
        add_word(out, "from");
    else if (text[strspn(text, "0123456789")] == '\0')
        add_word(out, strcmp(axis->name, "part") == 0 ? "head" : axis->name);
    add_word(out, text);
}

void strong_cell_name(struct buf *out, const struct strong_cell *cell)
{
    const struct sheet *sheet = &cell->sheet;
    if (sheet->layer >= 0)
        buf_format(out, "layer %d", sheet->layer);
    if (sheet->head >= 0)
        buf_format(out, "%shead %d", out->size ? " " : "", sheet->head);
    add_label(out, &sheet->rows, cell->row);
    add_label(out, &sheet->columns, cell->column);
}

int strongest_frame(struct frame *frame, const struct strongest *strongest, struct arena *arena,
                    struct err *err)
{
    enum { BAR_COLUMNS = 24 };
    enum { NAME, VALUE, BAR };
    static const struct column columns[] = {
        [NAME] = {"part", "", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [VALUE] = {"value", "", .digits = 4},
        [BAR] = {"bar", "", .kind = COLUMN_TEXT},
    };
    *frame =
        (struct frame){"strongest", {"part", strongest->count, NULL, 0}, .flags = COLUMN_TEXT_ONLY};
    if (frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err))
        return -1;
    frame->rows.labels = frame_labels(frame, NAME);
    for (size_t i = 0; i < strongest->count; i++) {
        const struct strong_cell *cell = &strongest->cells[i];
        struct buf name = {0};
        struct buf bar = {0};
        strong_cell_name(&name, cell);
        buf_text(&bar, "");
        for (long n = lroundf(fabsf(cell->value / strongest->cells->value) * BAR_COLUMNS); n > 0;
             n--)
            buf_text(&bar, cell->value > 0 ? "█" : "░");
        frame_labels(frame, NAME)[i].text = buf_keep(&name, arena, err);
        frame_floats(frame, VALUE)[i] = cell->value;
        frame_texts(frame, BAR)[i] = buf_keep(&bar, arena, err);
        if (!frame_labels(frame, NAME)[i].text || !frame_texts(frame, BAR)[i])
            return -1;
    }
    return 0;
}
