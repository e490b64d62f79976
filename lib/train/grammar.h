/* grammar.h: a file that says what texts look like, and texts drawn from it.
 *
 *     # Rules; the first one makes a text. Blanks of any length are one blank.
 *     story = *3 The <s:noun> near the <noun!s> <be/s> old. | <n:name> sees <m:name!n>. <n> waves.
 *     noun  = key #one | keys #many
 *           | door #one | doors #many
 *     be    = is #one | are #many
 *     name  = Anna | Ben | <syllable><syllable>
 *     syllable = ka | mo | ri
 *
 * Alternatives stand between |; *3 at the beginning is a weight, #one at the end a tag; an
 * alternative without one is its own tag. <rule> draws an alternative, <s:rule> remembers what came
 * of it as s, <s> repeats that; <rule/s> draws only among alternatives of the tag that s has,
 * <rule!s> only among those of another. A backslash makes the next character plain. A line that
 * begins with a blank goes on with the rule above.
 *
 *     if (grammar_read(&grammar, file.bytes, file.size, err)) ...
 *     if (grammar_write(&grammar, &text, 0, rng_fold_in(seed, 7), err)) ...      (the text 7)
 *     grammar_release(&grammar);
 */
#ifndef ATTN_TRAIN_GRAMMAR_H
#define ATTN_TRAIN_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

enum {
    GRAMMAR_DEPTH_MAX = 64,      /* of rules within rules */
    GRAMMAR_TEXT_MAX = 1 << 20,  /* bytes of one text */
    GRAMMAR_PARTS_MAX = 1 << 22, /* of alternatives, for one text: many may be empty */
    GRAMMAR_WEIGHT_MAX = 1000000,
    GRAMMAR_NAMES_MAX = 256, /* that a text can remember */
};

#define GRAMMAR_NONE SIZE_MAX

/* A part of an alternative: plain text, or what stands between < and >. */
struct grammar_part {
    const char *text; /* plain; NULL: a reference */
    size_t size;
    size_t rule; /* GRAMMAR_NONE: repeats `name` */
    size_t name; /* what is remembered, or repeated; GRAMMAR_NONE: nothing */
    size_t like; /* the name whose tag counts; GRAMMAR_NONE: any */
    bool other;  /* of another tag */
};

struct grammar_choice {
    struct grammar_part *parts;
    size_t part_count;
    uint64_t weight;
    size_t tag; /* a number: equal for equal tags */
};

/* An alternative in the order of tags, and the weight of all before it in that order. */
struct grammar_tagged {
    size_t tag, place;
    uint64_t before;
};

struct grammar_rule {
    const char *name;
    size_t size, line;
    const char *body; /* its alternatives, in one line */
    size_t body_size;
    struct grammar_choice *choices;
    size_t choice_count;
    uint64_t *before;              /* [choice_count + 1] the weight of all before each … */
    struct grammar_tagged *tagged; /* [choice_count + 1] … in either order */
};

struct grammar {
    struct grammar_rule *rules;
    size_t rule_count;
    size_t name_count;
    struct map numbers; /* of rules, by their names */
    struct arena arena;
};

/* Read a grammar; everything it needs is copied. Errors name the line. On failure nothing is held.
 */
int grammar_read(struct grammar *grammar, const char *text, size_t size, struct err *err);
void grammar_release(struct grammar *grammar);

/* The rule of that name; GRAMMAR_NONE when there is none. */
size_t grammar_find(const struct grammar *grammar, const char *name, size_t size);

/* Append a text of a rule (0: the first): the same for a key, on every machine. Refused: a tag that
 * no alternative has, a name that stands for nothing yet, rules without an end, a text too long or
 * of too many parts. */
int grammar_write(const struct grammar *grammar, struct buf *out, size_t rule, uint64_t key,
                  struct err *err);

/* All alternatives; or those of a tag; or all but those of the tag. */
struct grammar_draw_among {
    bool any;
    bool other;
    size_t tag;
};

/* Sum up the weights of a rule whose alternatives are read, so that drawing takes logarithmic time:
 * a rule may have a hundred thousand, and a text may ask it as often. */
int grammar_draw_prepare(struct grammar_rule *rule, struct arena *arena, struct err *err);

/* The alternative that number `*drawn` of the key falls on, which counts up; NULL, and nothing is
 * drawn, where none fits. */
const struct grammar_choice *grammar_draw(const struct grammar_rule *rule,
                                          const struct grammar_draw_among *among, uint64_t key,
                                          uint64_t *drawn);

#endif
