#include "lens/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 24 }; /* " layer " and any int */

/* How a layer or a head is written: where it has a number, and where it is a mean. */
struct form {
    const char *number;
    const char *mean;
};

static const char *write_part(char part[PART_BYTES], const struct form *form, int index, bool mean)
{
    part[0] = '\0';
    if (mean)
        snprintf(part, PART_BYTES, "%s", form->mean);
    else if (index >= 0)
        snprintf(part, PART_BYTES, form->number, index);
    return part;
}

/* The tensor's name with its layer and its head, where it has them. */
static const char *join(char name[SHEET_NAME_BYTES], const struct sheet *sheet,
                        const struct form *layers, const struct form *heads)
{
    char layer[PART_BYTES];
    char head[PART_BYTES];
    snprintf(name, SHEET_NAME_BYTES, "%s%s%s", sheet->tensor,
             write_part(layer, layers, sheet->layer, sheet->mean_of_layers),
             write_part(head, heads, sheet->head, sheet->mean_of_heads));
    return name;
}

const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    static const struct form layers = {" layer %d", " mean of layers"};
    static const struct form heads = {" head %d", " mean of heads"};
    return join(title, sheet, &layers, &heads);
}

const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    static const struct form layers = {".l%02d", ".lmean"};
    static const struct form heads = {".h%02d", ".hmean"};
    return join(stem, sheet, &layers, &heads);
}

bool axis_has_heads(const struct axis *axis)
{
    return strcmp(axis->name, "head") == 0 || strcmp(axis->name, "part") == 0;
}

/* Labels of layers and heads are 3 or L0H3; others on their axes, as "embed", are neither. */
static void read_label(const struct axis *axis, size_t index, int *layer, int *head)
{
    const char *label = axis->labels[index].plain;
    bool is_number = label[0] && label[strspn(label, "0123456789")] == '\0';
    if (strcmp(axis->name, "layer") == 0 && is_number)
        *layer = atoi(label);
    else if (axis_has_heads(axis) && is_number)
        *head = atoi(label);
    else if (axis_has_heads(axis))
        sscanf(label, "L%dH%d", layer, head);
}

void sheet_layer_head(const struct sheet *sheet, size_t row, size_t column, int *layer, int *head)
{
    *layer = *head = -1;
    read_label(&sheet->rows, row, layer, head);
    if (column != SHEET_NO_COLUMN)
        read_label(&sheet->columns, column, layer, head);
    *layer = sheet->layer >= 0 ? sheet->layer : *layer;
    *head = sheet->head >= 0 ? sheet->head : *layer >= 0 ? *head : -1;
}
