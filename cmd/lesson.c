/* lesson.c: `attn-cli lesson`: attention in sixteen steps. Each step runs a command and says where
 * to look in its output. The page also has the scale of scores and the journey through a model. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lesson.h"

#include "base/language.h"
#include "base/num.h"
#include "base/utf8.h"
#include "math/activation.h"
#include "math/rows.h"
#include "train/weight_init.h"
#include "write/text.h"
#include "command.h"
#include "output.h"

/* --- options ---------------------------------------------------------------------------------- */

static const char *name_step(size_t index)
{
    static char number[NUM_COUNT_BYTES + 1];
    snprintf(number, sizeof number, "%zu", index + 1);
    return index < lesson_steps ? number : index == lesson_steps ? "all" : "scale";
}

VALUES(steps, "Steps", lesson_steps + 2, name_step(index),
       index < lesson_steps    ? lessons->steps[index].title
       : index == lesson_steps ? "all steps"
                               : "why scores are scaled, measured")

struct own_options {
    const char *sentence;
    bool list;
};

static const struct option_row own_options[] = {
    FLAG("list", 0, OWN(list), "list the steps with their command lines"),
    STRING("lang", 0, "LANGUAGE", IN(display.language), "language: en (default) or zh (Chinese)",
           .values = &values_languages),
    STRING("output", 'o', "FILE", IN(output.path),
           "HTML page to write; default: text on standard output", .flags = OPTION_PROCESS),
    STRING("model", 'm', "MODEL", IN(model.name), "with -o: model of the last step (default: tiny)",
           .values = &values_models),
    STRING("sentence", 's', "TEXT", OWN(sentence), "with -o: text of the last step"),
    INTEGER("width", 0, "N", IN(display.width), 20, 100000,
            "columns of text output; default: the terminal's, else 80"),
    {0},
};

static command_verb lesson_command;

const struct command command_lesson = {
    .name = "lesson",
    .heading = "More",
    .about = "attention in sixteen steps",
    .operands = "[STEP|all|scale]",
    .most_used = "-o lesson.html\tweb page to write\n"
                 "--list\tthe steps, with command lines\n"
                 "--lang zh\ten (default) or zh\n"
                 "-m smollm2.gguf\twith -o: model of the last step\n"
                 "-s \"Life is short\"\twith -o: text of the last step\n",
    .examples = "attn-cli lesson\n"
                "attn-cli lesson 2\n"
                "attn-cli lesson all\n"
                "attn-cli lesson scale\n"
                "attn-cli lesson -o lesson.html\n"
                "attn-cli lesson --list --lang zh\n",
    .run = lesson_command,
    .options = own_options,
    .without = "threads quiet verbose",
    .operand_values = &values_steps,
    .draws = true,
};

enum {
    TITLE_COLUMN = 5,
    WORDS_MAX = 32,
    TABLE_COLUMNS = 70, /* width of the tables on the page, in columns */
};

static const char scale_line[] = "attn-cli lesson scale";

struct tour {
    const struct options *options;
    const struct lesson *lesson;
    size_t columns;
    size_t first, end;    /* range of steps to show, without `end` */
    struct output output; /* output of the HTML page */
    struct style style;
    struct layout layout;
    struct identity identity; /* identity of the next step on the page */
    struct arena arena;
};

/* Parse a step's command line; text in quotes is one word. Returns the command; NULL with `err`. */
static const struct command *read_line(struct options *options, const char *line,
                                       const struct command_list *all, struct arena *arena,
                                       struct err *err)
{
    char *words[WORDS_MAX + 1] = {NULL};
    for (size_t count = 0; *line; count++) {
        assert(count < WORDS_MAX); /* cannot fail: the lines of steps are constant */
        bool quoted = *line == '"';
        line += quoted;
        size_t size = strcspn(line, quoted ? "\"" : " ");
        words[count] = arena_text(arena, line, size, err);
        if (!words[count])
            return NULL;
        line += size + quoted;
        line += strspn(line, " ");
    }
    const struct command *command = command_find(all, words[1], err);
    return command && !command_parse(options, all, command, words + 2, arena, err) ? command : NULL;
}

/* The start of a numbered section in the output of `explain`. If the section is missing: in HTML
 * the first </section>, otherwise the end of `text`. */
static const char *find_section(const char *text, long number, bool in_html)
{
    char heading[NUM_COUNT_BYTES + sizeof "<h2>. "];
    snprintf(heading, sizeof heading, in_html ? "<h2>%ld. " : "\n%ld  ", number);
    const char *found = strstr(text, heading);
    found = found || !in_html ? found : strstr(text, "</section>");
    return found ? found : text + strlen(text);
}

/* The picture of a curve, in pixels: (0, 0) is at ORIGIN_X, ORIGIN_Y, and a step of 1 has UNIT
 * pixels on both axes. x goes from LEFT to RIGHT; the curve is drawn through DOTS points per step
 * of 1. */
enum { UNIT = 44, ORIGIN_X = 142, ORIGIN_Y = 76, LEFT = -3, RIGHT = 2, DOTS = 20 };

/* Write an activation with points at the numbers that follow its name: "gelu_new 0.9289". */
static void write_curve(struct buf *out, const char *curve)
{
    enum activation activation = ACTIVATION_NONE;
    const size_t length = strcspn(curve, " ");
    char name[sizeof "gelu_new"] = "";
    assert(length < sizeof name); /* cannot fail: the steps of the lesson are constant */
    memcpy(name, curve, length);
    activation_find(name, &activation);
    buf_text(out, "<div data-figure=\"curve\"><svg viewBox=\"0 0 240 106\" font-size=\"11\" "
                  "fill=\"currentColor\" stroke-width=\"1\">"
                  "<path d=\"M10 76H230M142 4V100M54 73v6M98 73v6M186 73v6M139 54h6\" "
                  "stroke=\"currentColor\" opacity=\"0.4\"/>"
                  "<g text-anchor=\"middle\"><text x=\"54\" y=\"70\">-2</text>"
                  "<text x=\"98\" y=\"70\">-1</text><text x=\"186\" y=\"89\">1</text>"
                  "<text x=\"128\" y=\"58\">0.5</text></g>"
                  "<path fill=\"none\" stroke=\"var(--bar)\" stroke-width=\"2\" d=\"");
    for (int i = LEFT * DOTS; i <= RIGHT * DOTS; i++) {
        float x = (float)i / DOTS, y = x;
        activate((struct matrix){&y, 1, 1, 1}, (struct matrix){&y, 1, 1, 1}, NULL, activation);
        if (y * UNIT < ORIGIN_Y)
            buf_format(out, "%c%.1f %.1f", i == LEFT * DOTS ? 'M' : 'L',
                       (double)(ORIGIN_X + x * UNIT), (double)(ORIGIN_Y - y * UNIT));
    }
    buf_text(out, "\"/>");
    char *end = (char *)curve + length; /* the cast is safe: `end` is only read */
    for (float x = strtof(end, &end), y = x;; x = y = strtof(end, &end)) {
        activate((struct matrix){&y, 1, 1, 1}, (struct matrix){&y, 1, 1, 1}, NULL, activation);
        const double right = (double)(ORIGIN_X + x * UNIT), down = (double)(ORIGIN_Y - y * UNIT);
        buf_format(out,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"var(--mark)\"/>"
                   "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.4f → %.4f</text>",
                   right, down, right + (x > 0 ? -6 : 12), down + (x > 0 ? -4 : 16), (double)x,
                   (double)y);
        if (!*end)
            break;
    }
    buf_text(out, "</svg></div>");
}

/* Write a range of sections of explain's output, such as "9-12", and a curve after one of them.
 * Returns the text after the range. */
static const char *write_range(struct buf *out, const char *range, const char *text,
                               const struct page_lesson *step, bool in_html)
{
    char *end, *curve;
    const char *first = find_section(text, strtol(range, &end, 10), in_html);
    const char *last = find_section(text, strtol(end + 1, &end, 10) + 1, in_html);
    assert(first < last); /* cannot fail: the steps of the lesson are constant */
    if (in_html && step->curve) {
        const char *at = find_section(text, strtol(step->curve, &curve, 10) + 1, true);
        buf_bytes(out, first, (size_t)(at - first));
        write_curve(out, curve + 1);
        first = at;
    }
    buf_bytes(out, first, (size_t)(last - first));
    return end;
}

/* Write the sections of explain's output that a step shows. */
static void write_parts(struct buf *out, const char *text, const struct page_lesson *step,
                        bool in_html)
{
    for (const char *range = step->parts; *range; range += *range == ',')
        range = write_range(out, range, text, step, in_html);
}

/* Run a step's command and write its output, or only the parts of it that the step names. */
static int run_step(struct stream *out, const struct command *command,
                    const struct options *options, const struct page_lesson *step, struct err *err)
{
    struct buf all = {0}, some = {0};
    if (!step->parts)
        return command_start(command, options, err);
    struct buf *outer = stream_capture(&all);
    int failed = command_start(command, options, err);
    stream_capture(outer);
    failed = failed || buf_check(&all, err);
    if (!failed) {
        buf_bytes(&some, all.bytes, (size_t)(find_section(all.bytes, 1, false) - all.bytes));
        write_parts(&some, all.bytes, step, false);
        failed = buf_check(&some, err);
        stream_bytes(out, some.bytes, some.size);
    }
    buf_release(&all);
    buf_release(&some);
    return err_if(failed);
}

/* Write an empty line, `mark`, and a text of a step; nothing if the text is NULL. */
static void write_text(struct stream *out, const struct tour *tour, const char *mark,
                       const char *text)
{
    if (!text)
        return;
    stream_format(out, "\n%s", mark);
    text_wrap(out, text, utf8_width(mark, strlen(mark)), 0, tour->columns);
}

/* Write the texts of a step about its output. */
static void write_texts(struct stream *out, const struct tour *tour, const struct page_lesson *step)
{
    write_text(out, tour, tour->lesson->look, step->look);
    write_text(out, tour, "", step->also);
    write_text(out, tour, tour->lesson->ask, step->question);
    write_text(out, tour, tour->lesson->reply, step->answer);
}

/* Show a step; its command runs as if it had been typed, with the --width of the lesson. Below it,
 * write a line of hyphens if another step follows, else the command that shows the next step, or
 * the words after the last step. */
static int show_step(struct tour *tour, size_t step, struct err *err)
{
    const struct page_lesson *row = &tour->lesson->steps[step];
    struct stream out;
    struct options options;
    const struct command *command =
        read_line(&options, row->line, tour->options->set.all, &tour->arena, err);
    if (!command || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    options.display.width = tour->options->display.width;
    options.display.language = tour->lesson->language;
    stream_format(&out, "%zu/%zu  ", step + 1, lesson_steps);
    text_wrap(&out, row->title, TITLE_COLUMN, TITLE_COLUMN, tour->columns);
    stream_char(&out, '\n');
    text_wrap(&out, row->point, 0, 0, tour->columns);
    stream_char(&out, '\n');
    text_wrap(&out, row->before, 0, 0, tour->columns);
    bool has_language = command == &command_run || command == &command_explain;
    stream_format(&out, "\n$ %s%s\n\n", row->line,
                  has_language && tour->lesson != lessons ? " --lang zh" : "");
    stream_flush(&out); /* write the buffered text before the command writes */
    int failed = !out.failure && run_step(&out, command, &options, row, err);
    if (failed)
        err_prefix(err, "step %zu", step + 1);
    write_texts(&out, tour, row);
    stream_char(&out, '\n');
    if (step + 1 < tour->end) {
        for (size_t i = 0; i < tour->columns; i++)
            stream_char(&out, '-');
        stream_text(&out, "\n\n");
    } else if (step + 1 < lesson_steps) {
        stream_format(&out, "%sattn-cli lesson %zu", tour->lesson->next, step + 2);
        if (tour->lesson != lessons)
            stream_format(&out, " --lang %s", tour->lesson->language);
        stream_char(&out, '\n');
    } else {
        text_wrap(&out, tour->lesson->last, 0, 0, tour->columns);
    }
    return stream_end(&out, failed, err);
}

/* True if the tour has all numbered steps. Then its list ends with the step `scale`, and its page
 * with `scale` and the journey through a model. */
static bool is_whole(const struct tour *tour)
{
    return tour->end - tour->first == lesson_steps;
}

static int write_list(const struct tour *tour, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    for (size_t i = tour->first; i < tour->end + is_whole(tour); i++) {
        const struct page_lesson *step = &tour->lesson->steps[i];
        stream_text(&out, i > tour->first ? "\n" : "");
        if (step->scale)
            stream_format(&out, "%s\n    %s\n", step->title, scale_line);
        else
            stream_format(&out, "%2zu  %s\n    %s\n", i + 1, step->title, step->line);
    }
    return stream_commit(&out, err);
}

/* --- why scores are scaled -------------------------------------------------------------------- */

enum { RANDOM_WORDS = 64, NARROWEST = 4, WIDEST = 1024, WIDTHS = 5 };

static const char scale_commands[] =
    "\n$ for d in 4 16 64 256 1024; do\n"
    "    attn-cli init --like journey -s \"$(seq -s ' ' -f w%03g 128)\" -o d$d \\\n"
    "        --set n_embd=$d,attention=cross\n"
    "    attn-cli run -m ./d$d -s \"$(seq -s ' ' -f w%03g 64)\" \\\n"
    "        --source \"$(seq -s ' ' -f w%03g 65 128)\" --scale sqrt \\\n"
    "        --show scores,masked,weights --stats --format csv # --scale none: without √d\n"
    "done\n";

/* The columns of `lesson scale` for one kind of score. The commands in scale_commands compute the
 * same numbers: init draws the words, as torch.randn does. */
struct scale_row {
    double variance;
    /* `largest`: mean over queries of the largest weight; `slope`: mean of w(1 − w) over all
     * weights w */
    double largest, slope;
};

struct scale_rows {
    size_t width;
    struct scale_row plain, scaled; /* `plain`: with scores q·k; `scaled`: with scores q·k/√d */
};

static int measure_row(struct scale_row *row, const float *words, size_t width, double scale)
{
    enum { CELLS = RANDOM_WORDS * RANDOM_WORDS };
    float scores[CELLS];
    double sum = 0, squares = 0;
    *row = (struct scale_row){0};
    for (size_t i = 0; i < CELLS; i++) {
        const float *q = words + i / RANDOM_WORDS * width;
        const float *k = words + (RANDOM_WORDS + i % RANDOM_WORDS) * width;
        double score = 0;
        for (size_t c = 0; c < width; c++)
            score += (double)q[c] * (double)k[c] * scale;
        sum += score / CELLS;
        squares += score * score / CELLS;
        scores[i] = (float)score;
    }
    row->variance = squares - sum * sum;
    for (float *weights = scores; weights < scores + CELLS; weights += RANDOM_WORDS) {
        double largest = 0;
        if (!softmax_row(weights, RANDOM_WORDS))
            return -1;
        for (size_t i = 0; i < RANDOM_WORDS; i++) {
            double w = (double)weights[i];
            largest = w > largest ? w : largest;
            row->slope += w * (1 - w) / CELLS;
        }
        row->largest += largest / RANDOM_WORDS;
    }
    return 0;
}

static int measure_scale(struct scale_rows rows[WIDTHS], struct arena *arena, struct err *err)
{
    struct torch_random random;
    float *words = arena_alloc(arena, 2 * RANDOM_WORDS * WIDEST, sizeof *words, err);
    if (!words)
        return -1;
    for (size_t d = NARROWEST; d <= WIDEST; d *= 4, rows++) {
        torch_random_seed(&random, ORIGIN_SEED);
        torch_random_normal(&random, words, 2 * RANDOM_WORDS * d, 0, 1);
        rows->width = d;
        if (measure_row(&rows->plain, words, d, 1) ||
            measure_row(&rows->scaled, words, d, 1 / sqrt((double)d)))
            return err_set(err, "softmax: expected finite scores");
    }
    return 0;
}

static int show_scale(struct tour *tour, struct err *err)
{
    struct stream out;
    struct scale_rows rows[WIDTHS];
    const struct lesson *lesson = tour->lesson;
    const struct page_lesson *step = &lesson->steps[tour->first];
    if (measure_scale(rows, &tour->arena, err) || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    int variance = 18 - (int)utf8_width(lesson->variance, strlen(lesson->variance));
    int largest = 18 - (int)utf8_width(lesson->largest, strlen(lesson->largest));
    stream_format(&out, "%s\n\n", step->title);
    text_wrap(&out, step->point, 0, 0, tour->columns);
    stream_char(&out, '\n');
    text_wrap(&out, step->before, 0, 0, tour->columns);
    stream_format(&out, "\n         %s%*s%s%*s%s\n", lesson->variance, variance, "",
                  lesson->largest, largest, "", lesson->slope);
    stream_text(&out, "    d    q·k      q·k/√d   q·k     q·k/√d    q·k     q·k/√d\n");
    for (const struct scale_rows *row = rows; row < rows + WIDTHS; row++)
        stream_format(&out, "%5zu  %8.2f  %6.2f   %.4f  %.4f    %.4f  %.4f\n", row->width,
                      row->plain.variance, row->scaled.variance, row->plain.largest,
                      row->scaled.largest, row->plain.slope, row->scaled.slope);
    stream_text(&out, scale_commands);
    write_texts(&out, tour, step);
    return stream_commit(&out, err);
}

/* Make the table of `lesson scale` as a section of the HTML page. */
static int scale_html(const char **html, const struct lesson *lesson, struct arena *arena,
                      struct err *err)
{
    struct scale_rows rows[WIDTHS];
    struct buf out = {0};
    if (measure_scale(rows, arena, err))
        return -1;
    buf_format(&out,
               "<div class=\"walk\"><h2>%s</h2><div class=\"scroll\"><table><thead><tr><td></td>"
               "<th class=\"group\" colspan=\"2\">%s</th><th class=\"group\" colspan=\"2\">%s</th>"
               "<th class=\"group\" colspan=\"2\">%s</th></tr><tr><th scope=\"col\">d</th>",
               lesson->steps[lesson_steps].title, lesson->variance, lesson->largest, lesson->slope);
    for (int i = 0; i < 3; i++)
        buf_text(&out, "<th>q·k</th><th>q·k/√d</th>");
    buf_text(&out, "</tr></thead><tbody>");
    for (const struct scale_rows *row = rows; row < rows + WIDTHS; row++)
        buf_format(&out,
                   "<tr><th scope=\"row\">%zu</th><td>%.2f</td><td>%.2f</td><td>%.4f</td>"
                   "<td>%.4f</td><td>%.4f</td><td>%.4f</td></tr>",
                   row->width, row->plain.variance, row->scaled.variance, row->plain.largest,
                   row->scaled.largest, row->plain.slope, row->scaled.slope);
    buf_text(&out, "</tbody></table></div></div>");
    *html = buf_keep(&out, arena, err);
    buf_release(&out);
    return err_if(!*html);
}

/* --- the HTML page ---------------------------------------------------------------------------- */

/* Run an `explain` command, and keep its HTML in the given language as the tables of the page. If
 * lesson->parts is set, keep only the sections that it names: "9-12". */
static int read_tables(struct page_lesson *lesson, const char *line, const char *language,
                       const struct command_list *all, struct arena *arena, struct err *err)
{
    struct options options;
    struct buf html = {0}, parts = {0};
    if (!read_line(&options, line, all, arena, err))
        return -1;
    options.output.format = "html";
    options.display.language = language;
    options.display.width = TABLE_COLUMNS;
    stream_capture(&html);
    int failed = explain_command(&options, err);
    stream_capture(NULL);
    failed = failed || buf_check(&html, err);
    if (!failed && lesson->parts) {
        buf_text(&parts, "<div class=\"walk\">");
        write_parts(&parts, html.bytes, lesson, true);
        buf_text(&parts, "</div>");
    }
    lesson->arithmetic = failed ? NULL : buf_keep(lesson->parts ? &parts : &html, arena, err);
    buf_release(&parts);
    buf_release(&html);
    return err_if(!lesson->arithmetic);
}

/* Run a step's command, and add its tensors, tables and texts to the page. */
static int add_example(struct tour *tour, size_t step, struct page_lesson lesson, struct err *err)
{
    struct page_lesson chinese = lessons[1].steps[step];
    struct page_lesson *texts[LESSONS] = {&lesson, &chinese}; /* by language; NULL: none */
    struct options options;
    const struct command *command =
        read_line(&options, lesson.line, tour->options->set.all, &tour->arena, err);
    if (!command)
        return -1;
    if (lesson.is_other) {
        texts[0] = NULL;
        texts[1] = &lesson;
    } else {
        lesson.chinese = &chinese;
    }
    const char *tables = lesson.tables || command != &command_explain ? lesson.tables : lesson.line;
    for (int i = lesson.is_other; i < LESSONS; i++) {
        struct page_lesson *one = texts[i];
        if ((tables && read_tables(one, tables, lessons[i].language, tour->options->set.all,
                                   &tour->arena, err)) ||
            (one->scale && scale_html(&one->arithmetic, &lessons[i], &tour->arena, err)))
            return -1;
    }
    if (command == &command_run)
        options.select.query = options.select.key = NULL; /* the page shows all tokens */
    else
        options.select.head = NULL; /* the animation of the page shows all heads of the layer */
    if (lesson.show)
        options.select.show = lesson.show;
    if (lesson.walk && tour->options->model.name)
        options.model.name = tour->options->model.name;
    if (lesson.walk && options_own(tour->options)->sentence)
        options.input.sentences.items[0] = options_own(tour->options)->sentence;
    if (step >= lesson_steps)
        lesson.line = lesson.scale ? scale_line : "";
    else if (!(lesson.title = arena_format(&tour->arena, err, "%zu  %s", step + 1, lesson.title)))
        return -1;
    return page_add_lesson(&tour->output, &tour->identity, &tour->layout, &options, &lesson, err);
}

/* True if a step has an example of its own in Chinese. */
static bool has_chinese_example(size_t step)
{
    return strcmp(lessons[0].steps[step].line, lessons[1].steps[step].line) != 0;
}

/* Add a step in both languages; with `other`, in Chinese alone, with its Chinese example. */
static int add_step(struct tour *tour, size_t step, bool other, struct err *err)
{
    struct page_lesson lesson = lessons[other].steps[step];
    lesson.is_other = other;
    lesson.of = step - tour->first;
    return add_example(tour, step, lesson, err) ? err_prefix(err, "step %zu", step + 1) : 0;
}

static int write_page(struct tour *tour, struct err *err)
{
    size_t more = is_whole(tour) ? 2 : 0;
    struct output_options output = tour->options->output;
    output.format = "html";
    if (display_read(&tour->style, tour->options, err) ||
        output_choose(&tour->output, &output, err))
        return -1;
    if (tour->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'",
                         tour->output.path);
    tour->style.title = lessons->page; /* the page translates the title and the steps */
    tour->style.language = tour->lesson->language;
    tour->layout = page_layout(tour->options, &tour->style);
    size_t others = 0;
    for (size_t step = tour->first; step < tour->end; step++)
        others += has_chinese_example(step);
    tour->identity = identity_first(tour->end - tour->first + more + others);
    for (size_t step = tour->first; step < tour->end + more; step++)
        if (add_step(tour, step, false, err))
            return -1;
    for (size_t step = tour->first; step < tour->end; step++)
        if (has_chinese_example(step) && add_step(tour, step, true, err))
            return -1;
    return output_commit(&tour->output, err);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Read the language and the operand: a step, `all` or `scale`. Default: step 1 for text; all for a
 * list or a page. */
static int parse_options(struct tour *tour, struct err *err)
{
    const struct options *options = tour->options;
    const struct own_options *own = options_own(options);
    const struct texts *operands = &options->input.operands;
    const char *path = options->output.path, *language;
    const char *name = operands->count ? operands->items[0] : own->list || path ? "all" : "1";
    const char *own_walk = options->model.name ? "model" : own->sentence ? "sentence" : NULL;
    long long step = 0;
    if (language_read(&language, options, err))
        return -1;
    tour->lesson = lessons;
    while (strcmp(tour->lesson->language, language) != 0)
        tour->lesson++;
    if (operands->count > 1)
        return err_usage(err, say(language, "expected one step, found '%s' as well"),
                         operands->items[1]);
    tour->end = lesson_steps;
    if (strcmp(name, "scale") == 0) {
        tour->first = tour->end++;
    } else if (strcmp(name, "all") != 0) {
        if (!num_parse_integer(name, 1, (long long)lesson_steps, &step))
            return err_usage(err,
                             say(language, "expected a step from 1 to %zu, all or scale, "
                                           "found '%s': --list shows them"),
                             lesson_steps, name);
        tour->first = (size_t)step - 1;
        tour->end = (size_t)step;
    }
    if (options_exclude(options, "list", "output", err))
        return -1;
    if (path && !output_is_page(path))
        return err_usage(
            err, say(language, "--output: expected a name that ends in .html, found '%s'"), path);
    if (own_walk && (!path || !is_whole(tour)))
        return err_usage(
            err, say(language, "--%s applies only to the page of all steps: expected -o FILE.html"),
            own_walk);
    return 0;
}

static int show(struct tour *tour, struct err *err)
{
    int failed = 0;
    if (options_own(tour->options)->list)
        return write_list(tour, err);
    if (tour->lesson->steps[tour->first].scale)
        return show_scale(tour, err);
    for (size_t step = tour->first; !failed && step < tour->end; step++)
        failed = show_step(tour, step, err);
    return failed;
}

/* --- on a terminal, a screen at a time -------------------------------------------------------- */

/* Return how many bytes of `text` to show on a screen of `rows` lines. End the screen before a
 * paragraph or heading, which are not indented, but not after a heading of one line; if there is no
 * such place, after an empty line; otherwise after any line. */
static size_t fit_screen(const char *text, size_t size, size_t rows, size_t columns)
{
    size_t used = 0, best = 0, empty = 0, lines = 0, next;
    bool indented = false;
    for (size_t at = 0; at < size; at = next) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        size_t width = memchr(text + at, '\033', length) ? 1 : utf8_width(text + at, length);
        next = at + length + (end ? 1 : 0);
        used += width > columns ? (width + columns - 1) / columns : 1;
        if (used > rows)
            return best ? best : empty ? empty : at ? at : next;
        if (!length && next < size && text[next] != ' ' && (lines > 1 || indented))
            best = next;
        empty = length ? empty : next;
        indented = length ? text[at] == ' ' : indented;
        lines = length ? lines + 1 : 0;
    }
    return size;
}

/* Write the text a screen at a time: Enter shows the next screen; q and Enter quit. */
static int write_screens(const struct tour *tour, const struct buf *text, size_t rows,
                         struct err *err)
{
    int key = '\n';
    for (size_t at = 0; at < text->size && key != 'q' && key != EOF;) {
        struct stream out;
        if (stream_to(&out, STDOUT_FILENO, err))
            return -1;
        out.terminal.colours = true;
        size_t size = fit_screen(text->bytes + at, text->size - at, rows - 1, tour->columns);
        stream_bytes(&out, text->bytes + at, size);
        at += size;
        if (at < text->size)
            stream_text(&out, tour->lesson->more);
        if (stream_commit(&out, err))
            return -1;
        key = at < text->size ? getchar() : EOF;
        for (int rest = key; rest != '\n' && rest != EOF;)
            rest = getchar();
    }
    return 0;
}

/* Show the steps a screen at a time if standard input and output are a terminal, else
 * all at once. */
static int show_screens(struct tour *tour, struct err *err)
{
    struct winsize window;
    struct buf text = {0};
    if (!isatty(STDIN_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || window.ws_row <= 2)
        return show(tour, err);
    stream_capture(&text);
    int failed = show(tour, err);
    stream_capture(NULL);
    failed = failed || buf_check(&text, err) || write_screens(tour, &text, window.ws_row, err);
    buf_release(&text);
    return err_if(failed);
}

static int lesson_command(const struct options *options, struct err *err)
{
    struct tour tour = {.options = options};
    int failed = parse_options(&tour, err);
    tour.columns = page_layout(options, NULL).columns;
    if (!failed)
        failed = options->output.path ? write_page(&tour, err) : show_screens(&tour, err);
    output_discard(&tour.output);
    arena_release(&tour.arena);
    return err_if(failed);
}
