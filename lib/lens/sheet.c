#include "lens/sheet.h"

#include <stdio.h>

enum { PART_BYTES = 24 }; /* " layer " and any int */

/* The tensor's name with its layer and its head, where it has them. */
static void join(char *name, const struct sheet *sheet, const char *layer, const char *head)
{
    snprintf(name, SHEET_NAME_BYTES, "%s%s%s", sheet->tensor, sheet->layer < 0 ? "" : layer,
             sheet->head < 0 ? "" : head);
}

const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    char layer[PART_BYTES];
    char head[PART_BYTES];
    snprintf(layer, sizeof layer, " layer %d", sheet->layer);
    snprintf(head, sizeof head, " head %d", sheet->head);
    join(title, sheet, layer, head);
    return title;
}

const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    char layer[PART_BYTES];
    char head[PART_BYTES];
    snprintf(layer, sizeof layer, ".l%02d", sheet->layer);
    snprintf(head, sizeof head, ".h%02d", sheet->head);
    join(stem, sheet, layer, head);
    return stem;
}
