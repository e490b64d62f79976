/* help_search.c: the search of `attn-cli help WORD`. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/names.h"
#include "guide_headings.h"
#include "help.h"
#include "write/text.h"

enum {
    PLACE_COLUMNS = 32, /* width of the names of places, in columns */
    MOST_ROWS = 10,     /* most options and values that are printed without --full */
    MOST_HEADINGS = 4,  /* most headings of guides that are printed without --full */
};

/* Words of other programs, and where attn-cli has what they mean. */
static const struct foreign_word {
    const char *words, *place;
} foreign_words[] = {
    {"gpu cuda mps", "attn-cli runs on the CPU; the README names programs with a GPU"},
    {"python", "module attn: guide python"},
    {"r", "package attn for R: guide r"},
    {"heatmap heatmaps", "--cells heat, -o FILE.svg (help figures)"},
    {"ablation ablations", "--ablate, --edit (help edits); patch --with zero"},
    {"hidden_states hidden_state", "--show resid_post (help tensors)"},
    {"attn attentions", "--show weights (help tensors)"},
    {"excel xlsx", "-o FILE.excel.csv (help formats)"},
    {"hf huggingface_hub", "pip install huggingface_hub; then -m OWNER/NAME"},
    {"finetune fine-tune finetuning", "train -m MODEL"},
    {"quantise quantize quantisation quantization", "-m FILE.gguf (guide files)"},
};

enum { FOREIGN_WORDS = sizeof foreign_words / sizeof *foreign_words };

/* A search for a word. A place is an option, value, command, topic or heading that mentions it. */
struct search {
    const struct page *page; /* the page that the answer is written to */
    const char *word;        /* the word without the hyphens before it */
    size_t size;             /* length of the word in bytes, without the s of a plural */
    size_t found;            /* number of places in all sections so far */
    size_t in_section;       /* number of places in the current section of the answer */
    size_t most;             /* largest number of places that the current section prints */
};

/* True if the text has a word that begins with the searched word, upper and lower case being equal.
 * A searched word of one or two bytes must be a whole word of the text. NULL is an empty text. */
static bool mentions(const struct search *search, const char *text)
{
    enum { WHOLE_BYTES = 3 };
    for (const char *at = text; at && *at; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) &&
            strncasecmp(at, search->word, search->size) == 0 &&
            (search->size >= WHOLE_BYTES || !isalnum((unsigned char)at[search->size])))
            return true;
    return false;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Begin a section of the answer, which prints at most `most` places. */
static void begin_section(struct search *search, size_t most)
{
    search->in_section = 0;
    search->most = most;
}

/* Count a place, and write an empty line before the first place of a section. True: the place is to
 * be printed. */
static bool add_place(struct search *search)
{
    search->found++;
    if (search->in_section++ == 0)
        stream_char(search->page->out, '\n');
    return search->in_section <= search->most;
}

/* Count a place. Print its line, shortened to the width of the page, unless the section has enough
 * places. The line is released. */
static void print_line(struct search *search, struct buf *line)
{
    if (add_place(search)) {
        text_shorten(line, search->page->columns);
        text_end(search->page->out, line, search->page->err);
    }
    buf_release(line);
}

/* Count a place. Print its name, and its description of `size` bytes; NULL: no description. */
static void add_line(struct search *search, const char *name, const char *about, size_t size)
{
    struct buf line = {0};
    buf_format(&line, "  %-*s %.*s", PLACE_COLUMNS, name, (int)size, about ? about : "");
    print_line(search, &line);
}

/* End a section: print how many of its places were left out. */
static void end_section(const struct search *search)
{
    if (search->in_section > search->most)
        stream_format(search->page->out, "  … %zu more: help %s --full\n",
                      search->in_section - search->most, search->word);
}

/* --- options and values ----------------------------------------------------------------------- */

/* True if no command before number `command` of the list has this row among its options. */
static bool is_first_with(const struct command_list *all, size_t command,
                          const struct option_row *row)
{
    for (size_t i = 0; i < command; i++)
        if (option_find(command_set(all->items[i]), row->name, strlen(row->name)) == row)
            return false;
    return true;
}

/* True if no option before this row of command number `command` has the same list of values, in the
 * same command or in the commands before. */
static bool is_first_with_list(const struct command_list *all, size_t command,
                               const struct option_row *row)
{
    for (size_t i = 0; i <= command; i++)
        for (struct option_walk walk = {.set = command_set(all->items[i])}; option_next(&walk);) {
            if (i == command && walk.row == row)
                return true;
            if (walk.row->values == row->values)
                return false;
        }
    return true;
}

/* Print each option that has exactly this name, with its whole text and its commands. */
static void search_exact(struct search *search)
{
    const struct page *page = search->page;
    const struct command_list *all = page->all;
    begin_section(search, SIZE_MAX);
    for (size_t i = 0; i < all->count; i++)
        for (struct option_walk walk = {.set = command_set(all->items[i])}; option_next(&walk);) {
            const struct option_row *row = walk.row;
            struct buf commands = {0};
            if (strcasecmp(row->name, search->word) != 0 || !is_first_with(all, i, row))
                continue;
            add_place(search);
            page_option(page, row);
            for (size_t k = i; k < all->count; k++)
                if (option_find(command_set(all->items[k]), row->name, strlen(row->name)) == row)
                    buf_format(&commands, "%s%s", commands.size ? ", " : "in ",
                               all->items[k]->name);
            stream_format(page->out, "%*s", ABOUT_COLUMN, "");
            if (!buf_check(&commands, page->err))
                text_wrap(page->out, commands.bytes, ABOUT_COLUMN, ABOUT_COLUMN, page->columns);
            buf_release(&commands);
        }
}

/* Where a place mentions the word, in the order in which places are printed. */
enum rank {
    RANK_NAME,    /* the word is the name */
    RANK_IN_NAME, /* the name mentions the word */
    RANK_IN_TEXT, /* only the description mentions the word */
    RANK_NONE,
};

static enum rank rank_of(const struct search *search, const char *name, const char *about)
{
    return strcasecmp(name, search->word) == 0 ? RANK_NAME
           : mentions(search, name)            ? RANK_IN_NAME
           : mentions(search, about)           ? RANK_IN_TEXT
                                               : RANK_NONE;
}

/* Print the values of a list that have this rank, with their command and option, as in
 * "heads --score entropy". `option` is "" for values of operands. */
static void search_values(struct search *search, enum rank rank, const char *command,
                          const char *option, const struct value_list *list)
{
    struct value value;
    for (size_t i = 0; list->at(&value, i, search->page->all); i++) {
        char name[FORM_BYTES];
        snprintf(name, sizeof name, "%s %s%s%s%.*s%s", command, option, *option ? " " : "",
                 value.name, value.end != 0, &value.end, value.argument ? value.argument : "");
        if (rank_of(search, value.name, value.about) == rank)
            add_line(search, name, value.about, value.about ? strlen(value.about) : 0);
    }
}

/* Print an option that has this rank, and then its values that have it. The values of the lists
 * "done" and "settings" are names of commands and options, which are found themselves. */
static void search_option(struct search *search, enum rank rank, size_t command,
                          const struct option_walk *walk)
{
    const struct command_list *all = search->page->all;
    const char *name = all->items[command]->name;
    const struct option_row *row = walk->row;
    char form[FORM_BYTES];
    if (!is_first_with(all, command, row))
        return;
    snprintf(form, sizeof form, "%s%s--%s%s%s", walk->is_shared ? "" : name,
             walk->is_shared ? "" : " ", row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    if (rank != RANK_NAME && rank_of(search, row->name, row->about) == rank)
        add_line(search, form, row->about, option_brief_bytes(row));
    if (!row->values || name_is_among("done settings", row->values->name) ||
        !is_first_with_list(all, command, row))
        return;
    snprintf(form, sizeof form, "--%s", row->name);
    search_values(search, rank, name, form, row->values);
}

/* Print options and values in the order of their ranks, without the options of RANK_NAME, which
 * search_exact prints. */
static void search_options(struct search *search, bool is_full)
{
    const struct command_list *all = search->page->all;
    begin_section(search, is_full ? SIZE_MAX : MOST_ROWS);
    for (enum rank rank = RANK_NAME; rank < RANK_NONE; rank++)
        for (size_t i = 0; i < all->count; i++) {
            const struct value_list *operands = all->items[i]->operand_values;
            for (struct option_walk walk = {.set = command_set(all->items[i])}; option_next(&walk);)
                search_option(search, rank, i, &walk);
            if (operands && operands->title && !help_topic_of(operands))
                search_values(search, rank, all->items[i]->name, "", operands);
        }
    end_section(search);
}

/* --- commands, topics, guides ----------------------------------------------------------------- */

static void search_pages(struct search *search)
{
    struct value value;
    begin_section(search, SIZE_MAX);
    for (size_t i = 0; values_pages.at(&value, i, search->page->all); i++) {
        char name[FORM_BYTES];
        bool is_topic = i >= search->page->all->count;
        snprintf(name, sizeof name, "%s%s", is_topic ? "help " : "", value.name);
        if (mentions(search, value.name) || mentions(search, value.about))
            add_line(search, name, value.about, strlen(value.about));
    }
}

static void search_guides(struct search *search, bool is_full)
{
    begin_section(search, is_full ? SIZE_MAX : MOST_HEADINGS);
    for (size_t i = 0; i < guide_heading_count; i++) {
        const struct guide_heading *heading = &guide_headings[i];
        struct buf line = {0};
        if (!mentions(search, heading->text))
            continue;
        buf_format(&line, "  guide %s: %s", heading->guide, heading->text);
        print_line(search, &line);
    }
    end_section(search);
}

static void search_foreign(struct search *search)
{
    begin_section(search, SIZE_MAX);
    for (size_t i = 0; i < FOREIGN_WORDS; i++)
        if (name_is_among(foreign_words[i].words, search->word) && add_place(search))
            stream_format(search->page->out, "  %s\n", foreign_words[i].place);
}

/* Search for a word, write the answer to the page, and return the number of places. */
static size_t search_all(const struct page *page, const char *word, bool is_full)
{
    const char *name = word + strspn(word, "-");
    struct search search = {.page = page, .word = name, .size = strlen(name)};
    if (!search.size)
        return 0;
    stream_format(page->out, "attn-cli help: '%s'\n", word);
    search_exact(&search);
    if (name > word && search.found)
        return search.found;
    if (search.size > 3 && tolower((unsigned char)name[search.size - 1]) == 's')
        search.size--;
    search_foreign(&search);
    search_pages(&search);
    search_options(&search, is_full);
    search_guides(&search, is_full);
    return search.found;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Search for a word: append the answer to `text`, and set `*found` to the number of places. */
static int search_into(struct buf *text, size_t *found, const char *word, bool is_full,
                       const struct command_list *all, struct err *err)
{
    struct stream memory;
    const struct page page = {&memory, PAGE_COLUMNS, all, err};
    if (stream_to_memory(&memory, text, err))
        return -1;
    *found = search_all(&page, word, is_full);
    return stream_end(&memory, err->kind, err);
}

size_t help_places(const char *word, const struct command_list *all)
{
    struct buf text = {0};
    struct err err = {0};
    size_t found = 0;
    int failed = search_into(&text, &found, word, false, all, &err);
    buf_release(&text);
    return failed ? 0 : found;
}

/* Set a usage error for a word that the search does not find. The message may suggest a command or
 * a topic with a similar name. */
static int refuse_word(const char *word, const struct command_list *all, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    struct value value;
    nearest_begin(&nearest, word, strlen(word));
    for (size_t i = 0; values_pages.at(&value, i, all); i++)
        nearest_offer(&nearest, value.name);
    return err_usage(err, "help: nothing about '%s'%s", word,
                     nearest.name ? names_guess(guess, nearest.name)
                                  : ": 'attn-cli help' lists commands");
}

int help_search(const char *word, bool is_full, const struct command_list *all, struct err *err)
{
    struct buf text = {0};
    struct stream out;
    size_t found = 0;
    int failed = search_into(&text, &found, word, is_full, all, err);
    if (!failed && !found)
        failed = refuse_word(word, all, err);
    if (!failed && !(failed = stream_to(&out, STDOUT_FILENO, err)))
        failed = stream_end(&out, text_send(&out, &text, err), err);
    buf_release(&text);
    return failed;
}
