/* lesson.c: `attn-cli lesson`: a guided tour, a step at a time; each runs a command line, says what
 * to look at, and names the next. `attn-cli lesson all` has them below each other. On a page for
 * browsers their texts stand, and after all of them the way of a text through a model.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "command.h"
#include "lesson_rows.h"
#include "write/text_line.h"
#include "page_parts.h"
#include "format/json_writer.h"

static bool steps_at(struct value *value, size_t index)
{
    if (index > lesson_count)
        return false;
    value->name = index < lesson_count ? value->text : "all";
    value->about = index < lesson_count ? lesson_rows[index].title : "all steps";
    snprintf(value->text, sizeof value->text, "%zu", index + 1);
    return true;
}
static const struct value_list values_steps = {"steps", "Steps", steps_at, NULL};

WORDS(lesson_formats, NULL, {"text", "text for the terminal"}, {"json", "the steps, for programs"},
      {"html", "a web page"})

struct lesson_options {
    bool list;
};

static const struct lesson_options *own(const struct options *options)
{
    return (const void *)options->own;
}

static const struct option_row own_options[] = {
    FLAG("list", 0, OWN(struct lesson_options, list), "list the steps with their command lines"),
    STRING("output", 'o', "FILE", IN(output.path),
           "HTML page to write: lesson.html (default: text on standard output)",
           .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "text, json or html (default: by the ending of -o, else text)",
           .values = &values_lesson_formats),
    STRING("model", 'm', "MODEL", IN(model.name), "html: model of the last step (default: tiny)",
           .values = &values_models),
    STRINGS("sentence", 's', "TEXT", IN(input.sentences), "html: text of the last step"),
    INTEGER("width", 0, "N", IN(looks.width), 20, 100000,
            "columns of text output (default: the terminal, else 80)"),
    {0},
};

const struct command command_lesson = {
    .name = "lesson",
    .group = "Learn",
    .about = "attention in eleven steps",
    .operands = "[STEP|all]",
    .examples = "attn-cli lesson\n"
                "attn-cli lesson 2\n"
                "attn-cli lesson all\n"
                "attn-cli lesson -o lesson.html\n"
                "attn-cli lesson --list\n",
    .run = lesson_command,
    .options = own_options,
    .shared = {{running_options, "threads quiet verbose"}},
    .operand_values = &values_steps,
};

enum {
    WIDTH_BYTES = 24,
    TITLE_COLUMN = 5,
    WORDS_MAX = 32,
};

struct tour {
    const struct options *options;
    size_t columns;
    size_t first, end;    /* the steps that are shown */
    struct output output; /* of a page for browsers */
    struct style style;
    struct place place;
    struct arena arena;
};

/* The words of a step's command line, with NULL after the last; quotes keep blanks, and go. */
static int read_words(char *words[WORDS_MAX + 2], size_t *count, const char *line,
                      struct arena *arena, struct err *err)
{
    *count = 0;
    while (*line) {
        assert(*count < WORDS_MAX); /* the table is ours */
        bool quoted = *line == '"';
        line += quoted;
        size_t size = strcspn(line, quoted ? "\"" : " ");
        words[*count] = arena_text(arena, line, size, err);
        if (!words[(*count)++])
            return -1;
        line += size + quoted;
        line += strspn(line, " ");
    }
    return 0;
}

/* Run the step's line as if it had been typed, on a page of the tour's width. */
static int run_line(struct tour *tour, const char *line, struct err *err)
{
    char width[WIDTH_BYTES];
    char *words[WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    if (read_words(words, &count, line, &tour->arena, err))
        return -1;
    snprintf(width, sizeof width, "--width=%zu", tour->columns);
    if (tour->options->looks.width)
        words[count] = width;
    return command_do(words[1], words + 2, &tour->arena, err);
}

static void write_before(struct stream *out, const struct tour *tour, size_t step)
{
    const struct page_lesson *row = &lesson_rows[step];
    stream_format(out, "%zu/%zu  ", step + 1, lesson_count);
    text_wrap(out, row->title, TITLE_COLUMN, TITLE_COLUMN, tour->columns);
    stream_char(out, '\n');
    text_wrap(out, row->before, 0, 0, tour->columns);
    stream_format(out, "\n$ %s\n\n", row->line);
}

/* Where to look, and a line before the next step, or how to go on. */
static void write_after(struct stream *out, const struct tour *tour, size_t step)
{
    static const char mark[] = "Look: ";
    stream_format(out, "\n%s", mark);
    text_wrap(out, lesson_rows[step].look, sizeof mark - 1, 0, tour->columns);
    stream_char(out, '\n');
    if (step + 1 < tour->end) {
        for (size_t i = 0; i < tour->columns; i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    } else if (step + 1 < lesson_count) {
        stream_format(out, "next: attn-cli lesson %zu\n", step + 2);
    } else {
        text_wrap(out,
                  "This was the last step. Go on with words of your own: attn-cli run -s \"…\"", 0,
                  0, tour->columns);
    }
}

static int show_step(struct tour *tour, size_t step, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    write_before(&out, tour, step);
    if (stream_commit(&out, err))
        return -1;
    if (run_line(tour, lesson_rows[step].line, err))
        return err_prefix(err, "step %zu", step + 1);
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    write_after(&out, tour, step);
    return stream_commit(&out, err);
}

static int write_list(const struct tour *tour, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    for (size_t i = tour->first; i < tour->end; i++)
        stream_format(&out, "%s%2zu  %s\n    %s\n", i > tour->first ? "\n" : "", i + 1,
                      lesson_rows[i].title, lesson_rows[i].line);
    return stream_commit(&out, err);
}

static int write_json(const struct tour *tour, struct err *err)
{
    struct stream out;
    struct json_writer json = {.stream = &out};
    if (output_to(&out, tour->options->output.path, err))
        return -1;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("lesson"));
    json_put_open(&json, "steps", '[');
    for (size_t i = tour->first; i < tour->end; i++) {
        const struct page_lesson *row = &lesson_rows[i];
        json_put_open(&json, "\n ", '{');
        json_put_integer(&json, "step", (long long)i + 1);
        json_put_text(&json, "title", row->title);
        json_put_text(&json, "\n  before", row->before);
        json_put_text(&json, "\n  command", row->line);
        json_put_text(&json, "\n  look", row->look);
        json_put_text(&json, "\n  question", row->question);
        json_put_text(&json, "\n  answer", row->answer);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(&out, '\n');
    return stream_commit(&out, err);
}

/* --- a page for browsers ---------------------------------------------------------------------- */

static int add_step(struct tour *tour, size_t step, struct err *err)
{
    struct page_lesson lesson = lesson_rows[step];
    struct options options;
    char *words[WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    if (read_words(words, &count, lesson.line, &tour->arena, err))
        return -1;
    const struct command *command = command_find(words[1], err);
    if (!command || options_parse(&options, command, words + 2, &tour->arena, err))
        return -1;
    if (lesson.show)
        options.select.show = lesson.show;
    lesson.number = step + 1;
    lesson.count = lesson_count;
    return page_add_lesson(&tour->output, &tour->place, &options, &lesson, err)
               ? err_prefix(err, "step %zu", step + 1)
               : 0;
}

static int add_walk(struct tour *tour, struct err *err)
{
    struct options options;
    const struct texts *texts = &tour->options->input.sentences;
    const char *text = texts->count ? texts->items[0] : "Life is short, eat dessert first";
    const char *model = tour->options->model.name ? tour->options->model.name : "tiny";
    struct page_lesson lesson = lesson_walk;
    lesson.number = lesson_count + 1;
    lesson.count = lesson_count;
    options_init(&options, command_set(&command_page));
    options.model.name = model;
    options.model.threads = tour->options->model.threads;
    options.select.show = lesson.show;
    options.page.lens = true;
    if (texts_add(&options.input.sentences, text, &tour->arena, err))
        return -1;
    return page_add_lesson(&tour->output, &tour->place, &options, &lesson, err);
}

static int write_page(struct tour *tour, struct err *err)
{
    bool all = tour->first == 0 && tour->end == lesson_count;
    const struct texts *texts = &tour->options->input.sentences;
    struct output_options output = tour->options->output;
    output.format = "html";
    if (texts->count > 1)
        return err_usage(err, "--sentence: expected one text to walk with, found %zu",
                         texts->count);
    if (!all && (texts->count || tour->options->model.name))
        return err_usage(err, "--%s: expected all steps, which end with that walk, found one",
                         texts->count ? "sentence" : "model");
    if (looks_read(&tour->style, tour->options, err) || output_choose(&tour->output, &output, err))
        return -1;
    if (tour->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'",
                         tour->output.path);
    tour->style.title = "A tour of attention";
    tour->place = page_place(&tour->options->looks, &tour->style);
    tour->place.count = tour->end - tour->first + all;
    for (size_t step = tour->first; step < tour->end; step++)
        if (add_step(tour, step, err))
            return -1;
    return (all && add_walk(tour, err)) || output_commit(&tour->output, err) ? -1 : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

enum form { FORM_TEXT, FORM_JSON, FORM_HTML };

/* For a terminal, for programs, or as a page, which alone takes a model and a text. */
static int choose_form(enum form *form, const struct options *options, struct err *err)
{
    static const struct row {
        const char *name, *ending;
    } rows[] = {[FORM_TEXT] = {"text", ".txt"},
                [FORM_JSON] = {"json", ".json"},
                [FORM_HTML] = {"html", ".html"}};
    const struct format_table table = FORMAT_TABLE_OF_TEXT(rows, sizeof rows / sizeof *rows);
    const struct row *row = format_choose(&table, &options->output, err);
    if (!row)
        return -1;
    *form = (enum form)(row - rows);
    if (*form == FORM_HTML)
        return own(options)->list
                   ? err_usage(err, "--list: expected it without a page, found --format html")
                   : 0;
    if (*form == FORM_TEXT && !output_is_standard(options->output.path))
        return err_usage(err, "--output: expected a page, as lesson.html, found '%s'",
                         options->output.path);
    if (options->model.name || options->input.sentences.count)
        return err_usage(err, "--%s: expected a page as output (-o lesson.html), found text",
                         options->model.name ? "model" : "sentence");
    return 0;
}

/* The step that is named, or all; where none is, the first of text, else all. */
static int choose_steps(struct tour *tour, enum form form, struct err *err)
{
    const struct texts *operands = &tour->options->input.operands;
    const char *name = operands->count                                 ? operands->items[0]
                       : own(tour->options)->list || form != FORM_TEXT ? "all"
                                                                       : "1";
    long long step = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one step, found '%s' as well", operands->items[1]);
    tour->end = lesson_count;
    if (strcmp(name, "all") == 0)
        return 0;
    if (!num_parse_integer(name, 1, (long long)lesson_count, &step))
        return err_usage(err,
                         "expected a step from 1 to %zu, or all, found '%s': --list shows them",
                         lesson_count, name);
    tour->first = (size_t)step - 1;
    tour->end = (size_t)step;
    return 0;
}

int lesson_command(const struct options *options, struct err *err)
{
    struct tour tour = {.options = options};
    enum form form = FORM_TEXT;
    if (choose_form(&form, options, err) || choose_steps(&tour, form, err))
        return -1;
    if (form == FORM_JSON)
        return write_json(&tour, err);
    if (form == FORM_HTML) {
        int failed = write_page(&tour, err);
        output_discard(&tour.output);
        arena_release(&tour.arena);
        return failed;
    }
    tour.columns = page_columns(&options->looks);
    int failed = own(options)->list ? write_list(&tour, err) : 0;
    for (size_t step = tour.first; !own(options)->list && !failed && step < tour.end; step++)
        failed = show_step(&tour, step, err);
    arena_release(&tour.arena);
    return failed;
}
