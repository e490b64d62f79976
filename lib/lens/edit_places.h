/* edit_places.h: the inside of edit_list.c: a text as it is read, and the places in it.
 *
 *     const char *at = text;
 *     while (at <= end)
 *         if (edit_add_range(&edit->layers, reader, &axis, edit_next_piece(&at, end))) ...
 */
#ifndef ATTN_LENS_EDIT_PLACES_H
#define ATTN_LENS_EDIT_PLACES_H

#include "lens/edit_list.h"

struct edit_reader {
    struct edit_list *list;
    enum edit_form form;
    const char *words; /* "--ablate 9.6": what messages begin with */
    struct err *err;
};

/* A part of the text; without the blanks around it; up to a comma or the end, after which `at` goes
 * on. */
struct edit_piece {
    const char *at;
    size_t size;
};

struct edit_piece edit_trim(const char *at, const char *end);
struct edit_piece edit_next_piece(const char **at, const char *end);

/* What places are of, and how many the model has; 0: as many as the text. */
struct edit_axis {
    const char *thing;
    size_t count;
};

struct edit_axis edit_layers(const struct edit_reader *reader, enum site site);

/* Add `3`, `-1` or `0-2`; read "head=6,token=-1,3", a name holds until the next one. */
int edit_add_range(struct edit_places *places, const struct edit_reader *reader,
                   const struct edit_axis *axis, struct edit_piece piece);
int edit_read_places(struct edit *edit, const struct edit_reader *reader, struct edit_piece text);

#endif
