/* notes.h: notes about single texts. Each kind is printed once for all texts of a command, with the
 * number of texts that it holds for and the first of them:
 *
 *     notes_add(&driver->notes, job->index, "the text has no full stop");      (while reading)
 *     notes_print(&driver->notes, &driver->items);                       (when all texts are read)
 *
 *     attn-cli: note: the text has no full stop (3 of 40 texts, first 'table.csv' line 5)
 */
#pragma once

#include "items.h"

enum { NOTES_MAX = 16, NOTE_BYTES = 256 };

struct notes {
    struct note {
        const char *format;    /* format of the note; its address identifies the kind of the note */
        char text[NOTE_BYTES]; /* the note with the values of the first text */
        /* `texts`: number of texts; `first`, `last`: indices of the items */
        size_t texts, first, last;
    } list[NOTES_MAX];
    size_t count;
    /* notes were printed; later notes are ignored, since texts are read a second time when they
     * run */
    bool printed;
};

/* Add a note about the text `index`. Texts are read in ascending order, once for each setting. */
void notes_add(struct notes *notes, size_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void notes_print(struct notes *notes, const struct items *items);
