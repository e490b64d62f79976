#include "train/grammar.h"

#include <stdlib.h>

#include "math/rng.h"

/* --- drawing ---------------------------------------------------------------------------------- */

/* Weights are summed once in the order of the alternatives and once by their tags. The weight of
 * the first n alternatives that fit is a difference of such sums, whatever fits; the alternative
 * wanted is the first for which it is above the number drawn. */
static int by_tag(const void *a, const void *b)
{
    const struct grammar_tagged *one = a;
    const struct grammar_tagged *other = b;
    if (one->tag != other->tag)
        return one->tag < other->tag ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

int grammar_draw_prepare(struct grammar_rule *rule, struct arena *arena, struct err *err)
{
    size_t count = rule->choice_count;
    rule->before = arena_alloc(arena, count + 1, sizeof *rule->before, err);
    rule->tagged = arena_alloc(arena, count + 1, sizeof *rule->tagged, err);
    if (!rule->before || !rule->tagged)
        return -1;
    for (size_t i = 0; i < count; i++) {
        rule->before[i + 1] = rule->before[i] + rule->choices[i].weight;
        rule->tagged[i] = (struct grammar_tagged){.tag = rule->choices[i].tag, .place = i};
    }
    qsort(rule->tagged, count, sizeof *rule->tagged, by_tag);
    for (size_t i = 0; i < count; i++)
        rule->tagged[i + 1].before =
            rule->tagged[i].before + rule->choices[rule->tagged[i].place].weight;
    return 0;
}

/* The weight of all alternatives before the first that has the tag and is not before `place`, in
 * the order of tags. */
static uint64_t before_tagged(const struct grammar_rule *rule, size_t tag, size_t place)
{
    const struct grammar_tagged wanted = {.tag = tag, .place = place};
    size_t low = 0, high = rule->choice_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_tag(&rule->tagged[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return rule->tagged[low].before;
}

/* The weight of those that fit among the first `count`. */
static uint64_t weight_of(const struct grammar_rule *rule, const struct grammar_draw_among *among,
                          size_t count)
{
    if (among->any)
        return rule->before[count];
    uint64_t same = before_tagged(rule, among->tag, count) - before_tagged(rule, among->tag, 0);
    return among->other ? rule->before[count] - same : same;
}

const struct grammar_choice *grammar_draw(const struct grammar_rule *rule,
                                          const struct grammar_draw_among *among, uint64_t key,
                                          uint64_t *drawn)
{
    size_t low = 0, high = rule->choice_count;
    uint64_t total = weight_of(rule, among, high);
    if (!total)
        return NULL;
    uint64_t number = rng_below(key, (*drawn)++, total);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (weight_of(rule, among, middle + 1) > number)
            high = middle;
        else
            low = middle + 1;
    }
    return &rule->choices[low];
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What a text remembers under a name. */
struct memory {
    bool known;
    size_t start, size; /* in the text */
    size_t tag;
};

struct writer {
    const struct grammar *grammar;
    struct buf *out;
    size_t first; /* where the text begins in `out` */
    uint64_t key, drawn;
    size_t depth;
    size_t parts; /* that were written, of all alternatives */
    struct memory memories[GRAMMAR_NAMES_MAX];
    struct err *err;
};

static int fail(const struct writer *w, const struct grammar_rule *rule, const char *what)
{
    return err_set(w->err, "line %zu: rule '%.*s': %s", rule->line, (int)rule->size, rule->name,
                   what);
}

static int write_choice(struct writer *w, const struct grammar_rule *rule,
                        const struct grammar_choice *choice);

/* What stands between < and >. */
static int write_reference(struct writer *w, const struct grammar_rule *from,
                           const struct grammar_part *part)
{
    const struct memory *like = part->like == GRAMMAR_NONE ? NULL : &w->memories[part->like];
    struct memory *memory = part->name == GRAMMAR_NONE ? NULL : &w->memories[part->name];
    if ((like && !like->known) || (part->rule == GRAMMAR_NONE && !memory->known))
        return fail(w, from, "a name stands for nothing yet");
    if (part->rule == GRAMMAR_NONE) {
        for (size_t i = 0; i < memory->size && !w->out->out_of_memory; i++)
            buf_char(w->out, w->out->bytes[memory->start + i]);
        return 0;
    }
    const struct grammar_rule *rule = &w->grammar->rules[part->rule];
    const struct grammar_draw_among among = {!like, part->other, like ? like->tag : 0};
    const struct grammar_choice *choice = grammar_draw(rule, &among, w->key, &w->drawn);
    size_t start = w->out->size;
    if (!choice)
        return fail(w, from, "no alternative has the tag that is asked for");
    if (write_choice(w, rule, choice))
        return -1;
    if (memory)
        *memory = (struct memory){true, start, w->out->size - start, choice->tag};
    return 0;
}

static int write_choice(struct writer *w, const struct grammar_rule *rule,
                        const struct grammar_choice *choice)
{
    if (++w->depth > GRAMMAR_DEPTH_MAX)
        return fail(w, rule, "rules within rules are more than 64 deep");
    for (size_t i = 0; i < choice->part_count; i++) {
        const struct grammar_part *part = &choice->parts[i];
        if (++w->parts > GRAMMAR_PARTS_MAX)
            return fail(w, rule, "the text has more than four million parts");
        if (part->text)
            buf_bytes(w->out, part->text, part->size);
        else if (write_reference(w, rule, part))
            return -1;
        if (w->out->size - w->first > GRAMMAR_TEXT_MAX)
            return fail(w, rule, "the text is longer than a megabyte");
    }
    w->depth--;
    return 0;
}

int grammar_write(const struct grammar *grammar, struct buf *out, size_t rule, uint64_t key,
                  struct err *err)
{
    struct writer w = {.grammar = grammar, .out = out, .first = out->size, .key = key, .err = err};
    struct grammar_part first = {NULL, 0, rule, GRAMMAR_NONE, GRAMMAR_NONE, false};
    return write_reference(&w, &grammar->rules[rule], &first) || buf_check(out, err) ? -1 : 0;
}
