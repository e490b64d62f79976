#include "train/grammar_write.h"

#include "train/grammar_draw.h"

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

static const struct memory *memory_of(const struct writer *w, size_t name)
{
    return name == GRAMMAR_NONE ? NULL : &w->memories[name];
}

static int fail(const struct writer *w, const struct grammar_rule *rule, const char *what)
{
    return err_set(w->err, "line %zu: rule '%.*s': %s", rule->line, (int)rule->size, rule->name,
                   what);
}

static void repeat(struct writer *w, const struct memory *memory)
{
    for (size_t i = 0; i < memory->size; i++)
        if (!w->out->out_of_memory)
            buf_char(w->out, w->out->bytes[memory->start + i]);
}

static int write_choice(struct writer *w, const struct grammar_rule *rule,
                        const struct grammar_choice *choice);

/* What stands between < and >. Rules within rules are as deep as GRAMMAR_DEPTH_MAX. */
static int write_reference(struct writer *w, const struct grammar_rule *from,
                           const struct grammar_part *part)
{
    const struct memory *like = memory_of(w, part->like);
    struct memory *memory = part->name == GRAMMAR_NONE ? NULL : &w->memories[part->name];
    if ((like && !like->known) || (part->rule == GRAMMAR_NONE && !memory->known))
        return fail(w, from, "a name stands for nothing yet");
    if (part->rule == GRAMMAR_NONE) {
        repeat(w, memory);
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
        return fail(w, rule, "rules within rules come to no end");
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
