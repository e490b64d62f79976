/* names.h: tables whose rows have a name, and words that should be one of them.
 *
 * A word that is none is refused in one line: the names there are, the word that was found, and the
 * name that was probably meant.
 *
 *     size_t index = 0;
 *     if (names_choose(&index, NAMES(palette_rows, palette_count), "--palette", word, err))
 *         return -1;
 */
#ifndef ATTN_BASE_NAMES_H
#define ATTN_BASE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

struct names {
    const char *const *first; /* the first row's name */
    size_t count, stride;     /* rows, and the bytes from one name to the next */
};

/* Of rows that have a field `name`; of an array of names. */
#define NAMES(rows, row_count) ((struct names){&(rows)->name, (row_count), sizeof *(rows)})
#define NAMES_LIST(array) \
    ((struct names){(array), sizeof(array) / sizeof *(array), sizeof *(array)})

/* A row's name; the row that `size` bytes name exactly, false when there is none; the name that the
 * word was probably meant to be, NULL when none is near. */
const char *names_at(struct names names, size_t index);
bool names_find(size_t *index, struct names names, const char *word, size_t size);
const char *names_nearest(struct names names, const char *word, size_t size);

/* Find it, or refuse it as usage: "--palette: expected one of …, found '…': did you mean '…'?"; the
 * same for an item of a list, `size` bytes of it. */
int names_choose(size_t *index, struct names names, const char *option, const char *word,
                 struct err *err);
int names_choose_item(size_t *index, struct names names, const char *option, const char *word,
                      size_t size, struct err *err);

/* The items of a list with commas as bits, refused likewise. */
int names_choose_set(unsigned *set, struct names names, const char *option, const char *list,
                     struct err *err);

/* The name of a column of ours: `attn_` precedes it, as often as needed, if `taken` has it. NULL
 * with `err`. */
const char *names_unused(const char *name, struct names taken, struct arena *arena,
                         struct err *err);

int names_refuse(struct names names, const char *option, const char *word, size_t size,
                 struct err *err);

/* Does a name end in that, or is it that? */
bool name_ends_in(const char *name, const char *ending);

/* Does a file's name have that ending, in small or large letters, after something else? */
bool name_has_ending(const char *name, const char *ending);

enum { NAMES_GUESS_BYTES = 320 }; /* of the longest name that can be near, and what is around it */

/* For the end of a message: ": did you mean '…'?", in the room given; "" where `name` is NULL. */
const char *names_guess(char room[NAMES_GUESS_BYTES], const char *name);

/* --- the name that a mistyped word was probably meant to be -----------------------------------
 *
 * By optimal string alignment distance: characters put in, taken out or changed, neighbours that
 * change places. Case decides between equals. A word that a name begins with is one step away; a
 * name that a word begins with is just near enough; what differs in more than about a third is not.
 *
 *     nearest_begin(&nearest, "lyaer", 5);
 *     for (size_t i = 0; i < count; i++)
 *         nearest_offer(&nearest, rows[i].name);
 *     if (nearest.name) ...
 */
enum { NEAREST_CHARACTERS = 64 }; /* a longer word is near nothing */

struct nearest {
    const char *name; /* the nearest of those offered, the first of several; NULL: none is near */
    size_t name_bytes;
    size_t size;    /* of the word, in characters */
    size_t limit;   /* that many steps are the most */
    size_t steps;   /* from the word to the name … */
    size_t exactly; /* … and where large and small letters differ */
    uint32_t word[NEAREST_CHARACTERS];
};

/* Look for the word of `size` bytes, which need not be UTF-8; take `name`, which is borrowed, if it
 * is nearer than all before. */
void nearest_begin(struct nearest *nearest, const char *word, size_t size);
void nearest_offer(struct nearest *nearest, const char *name);
void nearest_offer_bytes(struct nearest *nearest, const char *name, size_t name_bytes);

#endif
