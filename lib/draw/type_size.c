#include "draw/type_size.h"

static const struct {
    double size, line;
} kinds[] = {
    [TYPE_TITLE] = {9.5, 15}, [TYPE_SUBTITLE] = {7.5, 15}, [TYPE_NAME] = {7, 11.25},
    [TYPE_NUMBER] = {6, 9},   [TYPE_TEXT] = {8.5, 14},
};

double type_size(const struct figure_form *form, enum type_kind kind)
{
    return form->font_size > 0 ? form->font_size : kinds[kind].size;
}

double type_line(const struct figure_form *form, enum type_kind kind)
{
    return kinds[kind].line * type_size(form, kind) / kinds[kind].size;
}
