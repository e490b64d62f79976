/* names.h: tables with named rows, and words that must be one of these names.
 *
 * The message for another word lists the names, the word, and the nearest name.
 *
 *     size_t index = 0;
 *     if (names_choose(&index, NAMES(palette_rows, palette_count), "--palette", word, err))
 *         return -1;
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct arena;

struct names {
    const char *const *first; /* the name of the first row */
    size_t count, stride;     /* `count`: number of rows; `stride`: bytes from one name to
                               * the next */
};

/* NAMES: the names of an array of structs with a member `name`; NAMES_LIST: the names in an array
 * of texts. */
#define NAMES(rows, row_count) ((struct names){&(rows)->name, (row_count), sizeof *(rows)})
#define NAMES_LIST(array) \
    ((struct names){(array), sizeof(array) / sizeof *(array), sizeof *(array)})

const char *names_at(struct names names, size_t index);

/* Find the name that equals the `size` bytes of `word`; false: none does. */
bool names_find(size_t *index, struct names names, const char *word, size_t size);

/* The most similar name to a mistyped word; NULL: none is near. */
const char *names_nearest(struct names names, const char *word, size_t size);

/* Find a word, or an item of `size` bytes, or refuse it with a usage error: "--palette: expected
 * one of …, found '…': did you mean '…'?" names_choose leaves `*index` unchanged if `word` is NULL.
 * names_refuse: `meant` is the name to propose; NULL: the nearest, if one is near. */
int names_choose(size_t *index, struct names names, const char *option, const char *word,
                 struct err *err);
int names_choose_item(size_t *index, struct names names, const char *option, const char *word,
                      size_t size, struct err *err);
int names_refuse(struct names names, const char *option, const char *word, size_t size,
                 const char *meant, struct err *err);

/* Read a list of names separated by commas as a set: bit i is name i. */
int names_choose_set(unsigned *set, struct names names, const char *option, const char *list,
                     struct err *err);

/* The item after the next comma of a list; NULL: there is none. */
const char *list_next(const char *item);

/* Put `attn_` before `name` until it differs from all names in `taken`; NULL with `err`
 * on failure. */
const char *names_unused(const char *name, struct names taken, struct arena *arena,
                         struct err *err);

/* True if a name ends in `ending`; name_has_ending ignores case, and needs other bytes before the
 * ending. */
bool name_ends_in(const char *name, const char *ending);
bool name_has_ending(const char *name, const char *ending);

/* True if `names`, a list separated by spaces, contains `name`. NULL is an empty list. */
bool name_is_among(const char *names, const char *name);

enum { NAMES_GUESS_BYTES = 320 }; /* room for the longest near name and the words around it */

/* Write the end of a message, ": did you mean '…'?", or "" if `name` is NULL. Returns `text`. */
const char *names_guess(char text[NAMES_GUESS_BYTES], const char *name);

/* --- the name nearest to a mistyped word ------------------------------------------------------
 *
 * The distance is the number of characters inserted, removed, changed or swapped with a neighbour
 * (optimal string alignment). A name is near up to distance 1 for a word of 2 to 4 characters, up
 * to about a third of the characters for a longer one. Case only decides between names at the same
 * distance. Names that begin with the word are near as well, and names with which the word begins.
 *
 *     nearest_begin(&nearest, "lyaer", 5);
 *     for (size_t i = 0; i < count; i++)
 *         nearest_offer(&nearest, rows[i].name);
 *     if (nearest.name) ...
 */
enum { NEAREST_CHARACTERS = 64 }; /* maximum length; longer words and names are never near */

struct nearest {
    const char *name; /* the nearest name so far (the first of equally near ones), borrowed; NULL:
                       * none is near */
    size_t name_bytes;
    size_t size;    /* size of the mistyped word in characters */
    size_t limit;   /* maximum distance of a near name */
    size_t steps;   /* the distance of `name`; `limit` if none is near */
    size_t exactly; /* twice the distance with case counted, minus 1 if the word begins with
                     * the name */
    uint32_t word[NEAREST_CHARACTERS];
};

/* Begin to look for the name nearest to `word`, which need not be UTF-8, then offer each name. */
void nearest_begin(struct nearest *nearest, const char *word, size_t size);
void nearest_offer(struct nearest *nearest, const char *name);
void nearest_offer_bytes(struct nearest *nearest, const char *name, size_t name_bytes);
