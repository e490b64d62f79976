/* Grammars: the one of the bundled model's texts, and small ones that use all there is. */
#include <string.h>

#include "kind.h"
#include "lines_change.h"
#include "odd.h"
#include "specimens.h"

static const char *const small[] = {
    "story = *3 The <s:noun> near the <noun!s> <be/s> old. | <n:name> sees <m:name!n>. <n> waves.\n"
    "noun  = key #one | keys #many\n"
    "      | door #one | doors #many\n"
    "be    = is #one | are #many\n"
    "name  = Anna | Ben | <syllable><syllable>\n"
    "syllable = ka | mo | ri\n",
    "# a comment\n\ntext = a \\<b\\> <w> \\| <x:w> <x> <w/x>\nw = *2 one #a | *1 two #b | \n",
    "text = *1000000 a | <text> b | *1 c\n",
    "text = <a:rule><b:rule!a><c:rule/b> | <rule>\nrule = x | y | <text>\n",
};

static struct folder data;

int grammars_open(const char *scratch, struct err *err)
{
    (void)scratch;
    return specimens_read(&data, "data", "", err);
}

static void begin(struct made *made)
{
    if (!made_one_in(made, 4)) {
        made_text(made, "g", MADE_PICK(made, small));
        return;
    }
    for (size_t i = 0; i < data.file_count; i++)
        if (strcmp(data.files[i].name, "fables.grammar") == 0)
            made_file(made, "g", data.files[i].bytes, data.files[i].size);
}

/* Rules within rules: each refers to the next one so many times; the last is an odd text. */
static void add_chain(struct buf *text, struct made *made)
{
    static const char *const leaves[] = {"", "a", " ", "a | ", " | a", "<link0>", "\\<", "a #b"};
    static const size_t depths[] = {1, 2, 8, 16, 30, 40, 60, 61, 62, 63, 64, 65, 200};
    size_t depth = MADE_PICK(made, depths);
    size_t fan = 1 + made_below(made, 4);
    bool named = made_one_in(made, 3);
    for (size_t i = 0; i < depth; i++) {
        buf_format(text, "link%zu =", i);
        for (size_t k = 0; k < fan; k++)
            if (named)
                buf_format(text, " <n%zu:link%zu>", k, i + 1);
            else
                buf_format(text, "<link%zu>", i + 1);
        buf_char(text, '\n');
    }
    buf_format(text, "link%zu = %s\n", depth, MADE_PICK(made, leaves));
}

/* One rule of many alternatives, each with a tag or a weight of its own. */
static void add_wide(struct buf *text, struct made *made)
{
    static const size_t widths[] = {2, 100, 1000, 20000};
    size_t width = MADE_PICK(made, widths);
    size_t form = made_below(made, 4);
    buf_text(text, "link0 = <wide> <wide> <w:wide> <wide/w> <wide!w>\nwide =");
    for (size_t i = 0; i < width; i++) {
        buf_text(text, i ? " |" : "");
        if (form == 1)
            buf_format(text, " *%zu", 1 + i * 7919 % 1000000);
        buf_format(text, " w%zu", i);
        if (form == 2)
            buf_format(text, " #t%zu", i / 2);
    }
    buf_char(text, '\n');
}

/* As many names to remember as there may be, and one more. */
static void add_names(struct buf *text, struct made *made)
{
    static const size_t counts[] = {1, 255, 256, 257};
    size_t count = MADE_PICK(made, counts);
    buf_text(text, "link0 =");
    for (size_t i = 0; i < count; i++)
        buf_format(text, " <n%zu:leaf>", i);
    for (size_t i = 0; i < count; i++)
        buf_format(text, " <n%zu><leaf!n%zu>", i, i);
    buf_text(text, "\nleaf = a #x | b #y | \n");
}

/* New rules, and the first one begins with a reference to them. */
static void add_rules(struct buf *out, const struct folder_file *file, struct made *made)
{
    static void (*const additions[])(struct buf *, struct made *) = {add_chain, add_wide,
                                                                     add_names};
    bool first = made_one_in(made, 2);
    buf_text(out, first ? "start = <link0> | <link0><link0> | x\n" : "");
    buf_bytes(out, file->bytes, file->size);
    buf_text(out, first ? "\n" : "\nstart = <link0>\n");
    MADE_PICK(made, additions)(out, made);
}

void grammars_make(struct made *made)
{
    struct buf text = {0};
    begin(made);
    struct folder_file *file = made_find(made, "g");
    if (made_one_in(made, 4))
        add_rules(&text, file, made);
    else
        lines_change(&text, file->bytes, file->size, made);
    made_take(made, file, &text);
    size_t count = 1 + made_below(made, 8);
    made_line(made, "corpus g -n %zu --seed %zu", count, made_below(made, 1000));
    if (made_one_in(made, 4))
        made_line(made, "corpus g --rule link0 -o texts");
}
