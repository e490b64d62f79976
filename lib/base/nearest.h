/* nearest.h: the name that a mistyped word was probably meant to be.
 *
 * How far apart two words are is their optimal string alignment distance: the characters that must
 * be put in, taken out or changed, and the neighbours that must change places, each counted once.
 * Whether letters are large or small decides only between names that are equally near. A word that
 * a name begins with is one step away from it; the shortest such name is the nearest. A name that a
 * word begins with is just near enough. What differs in more than about a third of its characters
 * is near nothing.
 *
 *     struct nearest nearest;
 *     nearest_begin(&nearest, "lyaer", 5);
 *     for (size_t i = 0; i < count; i++)
 *         nearest_offer(&nearest, rows[i].name);
 *     if (nearest.name)
 *         ... "did you mean '%s'?"
 */
#ifndef ATTN_BASE_NEAREST_H
#define ATTN_BASE_NEAREST_H

#include <stddef.h>
#include <stdint.h>

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

/* Look for the word of `size` bytes, which need not be UTF-8. */
void nearest_begin(struct nearest *nearest, const char *word, size_t size);

/* Take `name` for the nearest if it is nearer than all before; it is borrowed. The same for a name
 * of so many bytes, without a 0 after them. */
void nearest_offer(struct nearest *nearest, const char *name);
void nearest_offer_bytes(struct nearest *nearest, const char *name, size_t name_bytes);

#endif
