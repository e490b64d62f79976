/* lesson.c: `attn-cli lesson`: a course in steps. A step runs a command line, says where to look,
 * and names the next one. The page of all steps ends with the way of a text through a model.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "command.h"
#include "write/text_line.h"
#include "page_parts.h"

/* --- the steps -------------------------------------------------------------------------------- */

#define JOURNEY "-s \"Your journey starts with one step\""
#define LIFE "-s \"Life is short eat dessert first\""

/* Numbers with decimals in the texts are those of the command's output: a test compares. */
static const struct page_lesson steps[] = {
    {"Scores are dot products",
     "A model reads a sentence as rows of numbers, an embedding for each word. The simplest "
     "attention there is has no weights at all: the score of two words is the dot product of "
     "their embeddings.",
     "attn-cli run -m journey " JOURNEY " --show embedding,scores",
     "The embeddings of 'journey' and 'starts' point the same way, so their score is high, 1.4754; "
     "that of 'journey' and 'one' is 0.7070. The table is the same on both sides of its diagonal: "
     "without weights nothing tells who asks from who answers.",
     "scores:1:2 scores:1:4", "Has every word its highest score with itself?",
     "No: 'one' has 0.6654 with itself, but 0.7154 with 'starts'. A dot product grows with the "
     "length of both, too, and the embedding of 'starts' is longer."},
    {"Softmax makes weights of scores, and weights make a context",
     "Every row of scores becomes a row of weights: e to the power of each score, divided by the "
     "sum of the row. With these weights the embeddings are added up.",
     "attn-cli run -m journey " JOURNEY " --show weights,context",
     "Each row of weights adds up to 1. 'journey' gives most to itself, 0.2379, and hardly less to "
     "'starts', 0.2333. The context of 'journey', 0.4419 0.6515 0.5683, is all six embeddings "
     "mixed by the weights of its row.",
     "weights:1:1 weights:1:2 context:1:0 context:1:1 context:1:2",
     "Which word looks at itself least, and why?",
     "'with', 0.1462. Its embedding is short, so that all of its scores are small, that with "
     "itself more than those with longer ones: 'journey' gets 0.2074 of it."},
    {"The whole way of one word",
     "explain shows every number between an embedding and a context, with the formulas.",
     "attn-cli explain -m journey " JOURNEY " --token journey",
     "Follow one key down the page: 'Your' has the score 0.9544, the power 0.5824, the weight "
     "0.1385, and adds 0.0596 to the first number of the context. The › marks the row of the query "
     "itself. With -o walk.md or -o walk.html it becomes a "
     "document.",
     "scores:1:0 weights:1:0 context:1:0",
     "Which key adds most to the first number of the context, though it has not the largest "
     "weight?",
     "'starts' adds 0.1330 and 'journey' 0.1308. The weights are 0.2333 and 0.2379, but the first "
     "number of 'starts' is 0.5700, that of 'journey' 0.5500.",
     "embedding,scores,weights,context"},
    {"Queries, keys and values",
     "Self-attention with weights: three matrices turn an embedding into a query (what a word "
     "looks for), a key (what it answers to) and a value (what it hands over).",
     "attn-cli run -m life " LIFE " --show embedding,q,k,v",
     "Embeddings have 3 numbers, queries and keys 2, values 4. Queries and keys have the same "
     "length, because they are multiplied; that of values is free. 'is' has a long query, 0.5667 "
     "1.8269, and a long key in the same direction, 0.5295 1.7355: their product will be large.",
     "q:1:0 q:1:1 k:1:0 k:1:1", "Whose key fits the query of 'first', -0.2816 -1.3567, best?",
     "That of 'short', -0.2991 -0.7295: both numbers have the signs of the query's, and the "
     "second, which counts most, is large. That of 'first' itself, -0.4788 -0.5835, comes next."},
    {"One query of self-attention",
     "The same walk as before, with weights: the query comes from W_q, and scores are divided by "
     "the root of a key's length before the softmax.",
     "attn-cli explain -m life " LIFE " --token is",
     "'is' gives 0.6870 of its attention to itself and 0.1470 to 'dessert'. Scaling brought 3.4707 "
     "down to 2.4542 and the others nearer to it, so that they keep some of the weight. The "
     "context has four numbers, as values have: 0.5313 1.3607 0.7891 1.3110.",
     "scores:1:1 masked:1:1 weights:1:1 weights:1:4 context:1:0",
     "'dessert' has the second largest weight, 0.1470. Where does that come from?",
     "From its score, 1.2903, which the scale makes 0.9124. e to the power of its distance from "
     "the largest, 2.4542, is 0.2140, and that is 0.1470 of the sum, 1.4556.",
     "embedding,q,k,scores,masked,weights,v,context"},
    {"Heads side by side",
     "Several heads look at the same words, each with matrices of its own, and each gives a "
     "context. Here are four, with values of one number.",
     "attn-cli run -m life-4-heads " LIFE " --show weights,attn_out",
     "Heads disagree: 'first' gives itself 0.2794 in head 0 and 0.4407 in head 1. The output of a "
     "word is its four contexts, one beside the other: for 'is', 0.4003 1.7137 1.3981 1.0497.",
     "weights:0.0:5:5 weights:0.1:5:5 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "In which head does 'is' look at itself most, and in which least?",
     "Most in head 1, 0.9199, and least in head 2, 0.6475: each head has matrices of its own, so "
     "the same two words have another score in each."},
    {"Heads with an output projection",
     "In a GPT the channels are shared out among the heads, and a last matrix, W_O, mixes what "
     "the heads found. tiny has 2 layers with 4 heads of 24 numbers each.",
     "attn-cli explain -m tiny -s \"Life is short\" --token short --layer 0 --head 2",
     "Two things are new. A head does not take in an embedding but x: the sum of the embeddings of "
     "a word and of its position, normed. And step 9 shows what each head adds to the output: "
     "W_O falls into one piece a head, and attn_out is the sum of the rows above it. What follows "
     "is the rest of the layer: the sum with h, and the MLP.",
     "scores:2:0 weights:2:0",
     "'short' looks at 'Life' most, 0.7649, though the score is negative, -1.2364. How can that "
     "be?",
     "The other scores are lower still, -10.0619 and -10.7872. The softmax knows differences "
     "alone: the same number more for every key changes no weight.",
     "ln_1,q,k,scores,masked,weights,v,context,attn_out"},
    {"No word sees the future",
     "A model that writes must not look at words to come. Before the softmax their scores become "
     "minus infinity: an empty cell in these tables.",
     "attn-cli run -m life-causal " LIFE " --show masked,weights",
     "'Life', the first word, sees only itself: 1.0000. 'is' shares its attention between two "
     "words, 0.0532 and 0.9468. 'first', the last word, sees all of them, and its row is the one "
     "that the model without a mask has: try -m life.",
     "weights:0:0 weights:1:0 weights:1:1", "Which row would not change without the mask?",
     "The last, that of 'first': nothing comes after it, so there is nothing to hide. It gives "
     "'short' 0.3102 in either case."},
    {"The mask after the softmax",
     "The other order gives the same: softmax over all words first, then the future is made 0, and "
     "what remains of a row is divided by its sum.",
     "attn-cli run -m life-causal " LIFE " --mask-after --show softmax,masked,weights",
     "In softmax 'is' gives 0.0386 to 'Life' and 0.6870 to itself, and the rest to the future. The "
     "mask leaves these two; divided by what they add up to they are 0.0532 and 0.9468, as in the "
     "step before. Words to come took part in the softmax, but only in what its row is divided by, "
     "and that cancels.",
     "softmax:1:0 softmax:1:1 weights:1:0 weights:1:1",
     "'Life' has 0.1772 for itself before the mask, and 1.0000 after it. What became of the rest?",
     "It belonged to words to come, and was made 0. What is left of the row, 0.1772, is divided by"
     " its sum, which is 0.1772, too."},
    {"Cross-attention: looking at another text",
     "Queries may come from one text, and keys and values from another, as a translator reads one "
     "language while writing another. The matrices are those of life; tables have words of the "
     "sentence as rows and words of the source as columns.",
     "attn-cli run -m life-cross " LIFE " --source \"the cat sat on that mat all day\" "
     "--show weights,context",
     "'is' looks at 'day' most, 0.2301, and at 'sat' least, 0.0547. The source has eight words, so "
     "a row has eight weights; the context of 'is', 0.7088 0.8629 0.7703 1.1768, is made of values "
     "of the source alone.",
     "weights:1:7 weights:1:2 context:1:0 context:1:1 context:1:2 context:1:3",
     "Why has not even the row of 'Life', the first word, an empty cell?",
     "The source is there as a whole before the first word is written, so none of it is to come: "
     "'Life' may look at its last word, 'day', too, 0.1166."},
    {"Heads that share keys and values",
     "A model that writes keeps the keys and values of every word it has seen. Query heads can "
     "share them: here four look at two, the first pair at one and the second at the other. "
     "(n_kv_head in config.json; with 1 of them all share one.)",
     "attn-cli run -m life-grouped " LIFE " --show k,v,weights,attn_out",
     "There are four tables of weights, but two of k and two of v. Heads 0 and 1 ask the same keys "
     "with queries of their own: 'first' gives 'short' 0.3102 in head 0 and 0.2978 in head 1. The "
     "output of 'is', 0.4003 0.3748 1.3850 1.3781, begins as that of life-4-heads does: head 0 is "
     "the same in both.",
     "weights:0.0:5:2 weights:0.1:5:2 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "How many numbers are kept of these six words, and how many if no head shared?",
     "Two heads of keys with 2 numbers a word and two of values with 1: 36 numbers. Four heads of "
     "each would be 72."},
};

enum { STEPS = sizeof steps / sizeof *steps };

/* The last step of a page: a text through any model. */
static const struct page_lesson lesson_walk = {
    "The way of a text through a model",
    "Every token has a row of numbers, a stream, from its embedding to the scores of the token "
    "that comes next. On its way it is read by branches, attention and MLP, layer by layer, and "
    "what they find is added to it. A station of the diagram opens its tensor; "
    "arrow keys go to the station before and after.",
    "",
    "Follow the plus signs: there a branch gives to the stream what it has found.",
    "",
    "By which stations can a token learn of another one?",
    "By those between the weights and the context alone: all others work on each token by itself.",
    "all",
    .is_walk = true};

/* --- options ---------------------------------------------------------------------------------- */

static bool steps_at(struct value *value, size_t index)
{
    if (index > STEPS)
        return false;
    value->name = index < STEPS ? value->text : "all";
    value->about = index < STEPS ? steps[index].title : "all steps";
    snprintf(value->text, sizeof value->text, "%zu", index + 1);
    return true;
}
static const struct value_list values_steps = {"steps", "Steps", steps_at, NULL};

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
           "HTML page to write (default: text on standard output)", .flags = OPTION_PROCESS),
    STRING("model", 'm', "MODEL", IN(model.name), "page: model of the last step (default: tiny)",
           .values = &values_models),
    STRINGS("sentence", 's', "TEXT", IN(input.sentences), "page: text of the last step"),
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
    const struct page_lesson *row = &steps[step];
    stream_format(out, "%zu/%d  ", step + 1, STEPS);
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
    text_wrap(out, steps[step].look, sizeof mark - 1, 0, tour->columns);
    stream_char(out, '\n');
    if (step + 1 < tour->end) {
        for (size_t i = 0; i < tour->columns; i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    } else if (step + 1 < STEPS) {
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
    if (run_line(tour, steps[step].line, err))
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
                      steps[i].title, steps[i].line);
    return stream_commit(&out, err);
}

/* --- a page for browsers ---------------------------------------------------------------------- */

static int add_step(struct tour *tour, size_t step, struct err *err)
{
    struct page_lesson lesson = steps[step];
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
    lesson.count = STEPS;
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
    lesson.number = STEPS + 1;
    lesson.count = STEPS;
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
    bool all = tour->first == 0 && tour->end == STEPS;
    const struct texts *texts = &tour->options->input.sentences;
    struct output_options output = tour->options->output;
    output.format = "html";
    if (texts->count > 1)
        return err_usage(err, "--sentence: expected one text, found %zu", texts->count);
    if (!all && (texts->count || tour->options->model.name))
        return err_usage(err,
                         "--%s: expected all steps, of which the last one uses it, found one step",
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

/* Only the page takes a model and a text. */
static int check_options(const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    const char *other = options->model.name              ? "model"
                        : options->input.sentences.count ? "sentence"
                                                         : NULL;
    if (options_exclude(options, "list", "output", err))
        return -1;
    if (path && !name_ends_in(path, ".html"))
        return err_usage(err, "--output: expected a name that ends in .html, found '%s'", path);
    if (!path && other)
        return err_usage(err, "--%s: expected a page as output (-o lesson.html), found text",
                         other);
    return 0;
}

/* The operand's, or all; by default the first step as text, all of a list or a page. */
static int choose_steps(struct tour *tour, struct err *err)
{
    const struct texts *operands = &tour->options->input.operands;
    bool usually_all = own(tour->options)->list || tour->options->output.path;
    const char *name = operands->count ? operands->items[0] : usually_all ? "all" : "1";
    long long step = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one step, found '%s' as well", operands->items[1]);
    tour->end = STEPS;
    if (strcmp(name, "all") == 0)
        return 0;
    if (!num_parse_integer(name, 1, STEPS, &step))
        return err_usage(err, "expected a step from 1 to %d, or all, found '%s': --list shows them",
                         STEPS, name);
    tour->first = (size_t)step - 1;
    tour->end = (size_t)step;
    return 0;
}

int lesson_command(const struct options *options, struct err *err)
{
    struct tour tour = {.options = options};
    int failed = check_options(options, err) || choose_steps(&tour, err);
    tour.columns = page_columns(&options->looks);
    if (!failed && options->output.path)
        failed = write_page(&tour, err);
    else if (!failed && own(options)->list)
        failed = write_list(&tour, err);
    else
        for (size_t step = tour.first; !failed && step < tour.end; step++)
            failed = show_step(&tour, step, err);
    output_discard(&tour.output);
    arena_release(&tour.arena);
    return failed ? -1 : 0;
}
