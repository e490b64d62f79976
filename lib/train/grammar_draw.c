/* grammar_draw.c: sums of weights, once in the order of the alternatives and once by their tags.
 *
 * The weight of the first n alternatives that fit is a difference of such sums, whatever fits; the
 * alternative wanted is the first for which it is above the number drawn.
 */
#include "train/grammar_draw.h"

#include <stdlib.h>

#include "math/rng.h"

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
