#include "notes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "say.h"

void notes_add(struct notes *notes, size_t index, const char *format, ...)
{
    va_list args;
    struct note *note = notes->list;
    struct note *const end = note + notes->count;
    while (note < end && note->format != format)
        note++;
    if (notes->printed || (note < end && index <= note->last))
        return;
    if (note == end) {
        assert(notes->count < NOTES_MAX);
        notes->count++;
        *note = (struct note){.format = format, .first = index};
        va_start(args, format);
        vsnprintf(note->text, sizeof note->text, format, args);
        va_end(args);
    }
    note->texts++;
    note->last = index;
}

void notes_print(struct notes *notes, const struct items *items)
{
    for (const struct note *note = notes->list; note < notes->list + notes->count; note++) {
        struct buf origin = {0};
        if (note->texts < items->count)
            items_origin(&origin, items, note->first);
        if (items->count == 1)
            print_note("%s", note->text);
        else if (note->texts == items->count)
            print_note("%s (all %zu texts)", note->text, note->texts);
        else
            print_note("%s (%zu of %zu texts, first %s)", note->text, note->texts, items->count,
                       origin.bytes ? origin.bytes : "");
        buf_release(&origin);
    }
    notes->printed = true;
}
