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
        const char *format;        /* its address tells kinds apart */
        char text[NOTE_BYTES];     /* with the values of the first text */
        size_t texts, first, last; /* number of texts; indices in items */
    } list[NOTES_MAX];
    size_t count;
    bool printed; /* later notes are ignored: texts are read a second time to run */
};

/* Note something about the text `index`. Texts are read in ascending order, for each setting. */
void notes_add(struct notes *notes, size_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void notes_print(struct notes *notes, const struct items *items);
