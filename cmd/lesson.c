/* lesson.c: `attn-cli lesson`: attention in eleven steps. Each step runs a command and says where
 * to look in its output. The page of all steps ends with a diagram of a whole model. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "draw/page.h"
#include "math/rows.h"
#include "math/torch_random.h"
#include "model/weight_init.h"
#include "write/text.h"
#include "command.h"
#include "output.h"

/* --- the steps -------------------------------------------------------------------------------- */

#define JOURNEY "-s \"Your journey starts with one step\""
#define LIFE "-s \"Life is short eat dessert first\""

/* All numbers with decimals in a step are printed by its command; a test compares them. */
static const struct page_lesson steps[] = {
    {"Scores are dot products",
     "A model represents each word as a vector, its embedding. In the simplest form of attention, "
     "without any weights, the score of two words is the dot product of their embeddings.",
     "attn-cli run -m journey " JOURNEY " --show embedding,scores",
     "The embeddings of 'journey' and 'starts' point in nearly the same direction, so their score "
     "is high: 1.4754. The score of 'journey' and 'one' is 0.7070. The table is symmetric: without "
     "weights, a word's query and key are the same vector.",
     "scores:1:2 scores:1:4", "Is every word's highest score the one with itself?",
     "No: 'one' scores 0.6654 with itself, but 0.7154 with 'starts'. A dot product also grows with "
     "the length of the vectors, and the embedding of 'starts' is longer."},
    {"Softmax turns scores into weights",
     "Softmax divides the exponential of each score by the sum of the exponentials in its row. The "
     "context of a word is the sum of all embeddings, each multiplied by its weight.",
     "attn-cli run -m journey " JOURNEY " --show weights,context",
     "Each row of weights sums to 1. 'journey' attends most to itself, 0.2379, then to 'starts', "
     "0.2333. Its context, 0.4419 0.6515 0.5683, is the weighted sum of all six embeddings. A text "
     "that prints 7 x 7 weights has this context as a seventh row among its inputs (model "
     "journey-seven): over six words the weight of 'Your' in the row of 'journey' is 0.1385, over "
     "seven it is 0.1180.",
     "weights:1:1 weights:1:2 context:1:0 context:1:1 context:1:2",
     "Which word attends to itself least, and why?",
     "'with', 0.1462. Its embedding is short, so all its scores are low, and lowest with other "
     "short embeddings such as its own: 'journey', which is longer, gets 0.2074."},
    {"Attention for one word, step by step",
     "explain shows every number between an embedding and its context, with the formulas.",
     "attn-cli explain -m journey " JOURNEY " --token journey",
     "Follow one key down the page: 'Your' has the score 0.9544, the exponential 0.5824 and the "
     "weight 0.1385, and adds 0.0596 to the first number of the context. The sign › marks the "
     "query's own row. -o walk.md or -o walk.html writes a document.",
     "scores:1:0 weights:1:0 context:1:0",
     "Which key adds most to the first number of the context?",
     "'starts', 0.1330: its weight is smaller than that of 'journey', 0.2333 against 0.2379, but "
     "its first number is larger, 0.5700 against 0.5500.",
     "embedding,scores,weights,context"},
    {"Queries, keys and values",
     "In self-attention, three weight matrices turn each embedding into a query (what the word "
     "looks for), a key (what it can be found by) and a value (what it passes on).",
     "attn-cli run -m life " LIFE " --show embedding,q,k,v",
     "Embeddings have 3 numbers, queries and keys 2, values 4. Queries and keys must have the same "
     "length, because they are multiplied. The query of 'is', 0.5667 1.8269, and its key, 0.5295 "
     "1.7355, are long and point in nearly the same direction: their score will be high.",
     "q:1:0 q:1:1 k:1:0 k:1:1", "Which key matches the query of 'first', -0.2816 -1.3567, best?",
     "That of 'short', -0.2991 -0.7295: both numbers have the same signs as the query's, and the "
     "second, which counts most, is large. 'first' itself, -0.4788 -0.5835, comes next."},
    {"Self-attention for one word",
     "The same steps, now with weights: W_q makes the query, and scores are divided by the square "
     "root of the key size before the softmax.",
     "attn-cli explain -m life " LIFE " --token is",
     "'is' gives 0.6870 of its attention to itself and 0.1470 to 'dessert'. Scaling reduces its "
     "highest score from 3.4707 to 2.4542 and brings the others closer, so that they keep some "
     "weight. The context has four numbers, as values do: 0.5313 1.3607 0.7891 1.3110.",
     "scores:1:1 masked:1:1 weights:1:1 weights:1:4 context:1:0",
     "'dessert' has the second largest weight, 0.1470. Where does it come from?",
     "Its score, 1.2903, is scaled to 0.9124. The exponential of its difference from the largest, "
     "2.4542, is 0.2140, and divided by the sum, 1.4556, that is 0.1470.",
     "embedding,q,k,scores,masked,weights,v,context"},
    {"Multi-head attention",
     "Several heads read the same words, each with its own matrices, and each computes a context. "
     "Here are four heads with values of one number.",
     "attn-cli run -m life-4-heads " LIFE " --show weights,attn_out",
     "Heads differ: 'first' gives itself 0.2794 in head 0 and 0.4407 in head 1. The output of a "
     "word is the concatenation of its four contexts: for 'is', 0.4003 1.7137 1.3981 1.0497.",
     "weights:0.0:5:5 weights:0.1:5:5 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "In which head does 'is' attend to itself most, and in which least?",
     "Most in head 1, 0.9199, and least in head 2, 0.6475: each head has its own matrices, so it "
     "gives the same two words a different score."},
    {"The output projection",
     "In a GPT, each head has its share of the channels, and an output matrix, W_O, combines the "
     "results of the heads. The model tiny has 2 layers with 4 heads of 24 numbers each.",
     "attn-cli explain -m tiny -s \"Life is short\" --token short --layer 0 --head 2",
     "Two things are new. The head reads x: the sum of the embeddings of a word and its position, "
     "after a layer norm. And step 9 shows how much each head adds to the output: each has its own "
     "rows of W_O, and attn_out is the sum of the heads' results and the bias. The rest of the "
     "layer follows: the sum with h, and the MLP.",
     "scores:2:0 weights:2:0",
     "'short' attends most to 'Life', 0.7649, although the score is negative, -1.2364. Why?",
     "The other scores are lower still, -10.0619 and -10.7872. Softmax depends only on "
     "differences: adding the same number to every score changes no weight.",
     "ln_1,q,k,scores,masked,weights,v,context,attn_out"},
    {"The causal mask",
     "A model that generates text must not use later words. The causal mask sets their scores to "
     "minus infinity before the softmax: these are the empty cells. In mask they are 1, in visible "
     "0.",
     "attn-cli run -m life-causal " LIFE " --show mask,masked,weights",
     "'Life', the first word, sees only itself: 1.0000. 'is' divides its attention between two "
     "words, 0.0532 and 0.9468. 'first', the last word, sees all of them, so its row is the same "
     "as without a mask: try -m life.",
     "weights:0:0 weights:1:0 weights:1:1", "Which row would not change without the mask?",
     "The last, that of 'first', which has no later words: it gives 'short' 0.3102 either way."},
    {"The causal mask after the softmax",
     "Masking after the softmax gives the same result: apply the softmax to all words, set the "
     "weights of later words to 0, and divide each row by the sum of what is left.",
     "attn-cli run -m life-causal " LIFE " --mask-after --show softmax,masked,weights",
     "Before the mask, 'is' gives 0.0386 to 'Life', 0.6870 to itself and the rest to later words. "
     "The mask keeps the first two; divided by their sum, they are 0.0532 and 0.9468, as in the "
     "previous step. Later words only change the divisor of the softmax, which cancels.",
     "softmax:1:0 softmax:1:1 weights:1:0 weights:1:1",
     "'Life' gives itself 0.1772 before the mask and 1.0000 after it. What happened to the rest?",
     "It belonged to later words and was set to 0. What is left is divided by its sum, 0.1772."},
    {"Cross-attention",
     "Queries can come from one text, keys and values from another: a translation model reads one "
     "language while it writes another. Rows are words of the sentence, columns of the source.",
     "attn-cli run -m life-cross " LIFE " --source \"the cat sat on that mat all day\" "
     "--show weights,context",
     "'is' attends most to 'sat', 0.1933, and least to 'that', 0.0628. Each row has eight weights, "
     "one per source word. The context of 'is', 0.4874 0.9718 0.7359 1.1353, adds only their "
     "values.",
     "weights:1:2 weights:1:4 context:1:0 context:1:1 context:1:2 context:1:3",
     "Why is no cell masked in the row of 'Life', the first word?",
     "The whole source is known before the first word is written, so none of its words is a later "
     "word: 'Life' also attends to the last one, 'day', 0.1256."},
    {"Grouped-query attention",
     "A model that generates text stores the keys and values of all previous words. Heads can "
     "share them to save memory: here the first two of four heads share one set, the others a "
     "second (n_kv_head in config.json; with 1, all heads share one).",
     "attn-cli run -m life-grouped " LIFE " --show k,v,weights,attn_out",
     "There are four tables of weights, but only two of k and two of v. Heads 0 and 1 use the same "
     "keys with different queries: 'first' gives 'short' 0.3102 in head 0, 0.2978 in head 1. The "
     "output of 'is', 0.4003 0.3748 1.3850 1.3781, starts as in step 6: head 0 is the same.",
     "weights:0.0:5:2 weights:0.1:5:2 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "How many numbers are stored for these six words, and how many without sharing?",
     "36: two key heads with 2 numbers per word, two value heads with 1. Without sharing, 72."},
    {"A text's path through a model", /* only in the page */
     "Each token has a vector, the residual stream, from its embedding to the logits of the next "
     "token. In every layer, the attention and the MLP read it and add their results to it. Select "
     "a station of the diagram to see its tensor; the arrow keys move between stations.",
     "attn-cli page -m tiny -s \"Life is short, eat dessert first\" --lens",
     "Follow the plus signs: there a branch adds its result to the stream.", "",
     "At which stations does a token receive information from other tokens?",
     "Only between the weights and the context: all others work on each token separately.", "all",
     .is_walk = true},
};

enum { STEPS = sizeof steps / sizeof *steps - 1 }; /* in text output */

/* --- options ---------------------------------------------------------------------------------- */

static const char *name_step(size_t index)
{
    static char number[NUM_COUNT_BYTES + 1];
    snprintf(number, sizeof number, "%zu", index + 1);
    return index < STEPS ? number : index == STEPS ? "all" : "scale";
}

VALUES(steps, "Steps", STEPS + 2, name_step(index),
       index < STEPS    ? steps[index].title
       : index == STEPS ? "all steps"
                        : "why scores are scaled, measured")

struct own_options {
    const char *sentence;
    bool list;
};

static const struct option_row own_options[] = {
    FLAG("list", 0, OWN(list), "list the steps with their command lines"),
    STRING("output", 'o', "FILE", IN(output.path),
           "HTML page to write (default: text on standard output)", .flags = OPTION_PROCESS),
    STRING("model", 'm', "MODEL", IN(model.name), "with -o: model of the last step (default: tiny)",
           .values = &values_models),
    STRING("sentence", 's', "TEXT", OWN(sentence), "with -o: text of the last step"),
    INTEGER("width", 0, "N", IN(looks.width), 20, 100000,
            "columns of text output (default: terminal, else 80)"),
    {0},
};

const struct command command_lesson = {
    .name = "lesson",
    .group = "Learn",
    .about = "attention in eleven steps",
    .operands = "[STEP|all|scale]",
    .examples = "attn-cli lesson\n"
                "attn-cli lesson 2\n"
                "attn-cli lesson all\n"
                "attn-cli lesson scale\n"
                "attn-cli lesson -o lesson.html\n"
                "attn-cli lesson --list\n",
    .run = lesson_command,
    .options = own_options,
    .shared = {running_options},
    .without = "threads quiet verbose",
    .operand_values = &values_steps,
};

enum {
    TITLE_COLUMN = 5,
    WORDS_MAX = 32,
};

struct tour {
    const struct options *options;
    size_t columns;
    size_t first, end;    /* range of steps to show */
    bool scale;           /* show why scores are scaled instead */
    struct output output; /* of the HTML page */
    struct style style;
    struct place place;
    struct arena arena;
};

/* Split a step's command line into words, with NULL after the last. Text in quotes is one word. */
static int read_words(char *words[WORDS_MAX + 2], size_t *count, const char *line,
                      struct arena *arena, struct err *err)
{
    *count = 0;
    while (*line) {
        assert(*count < WORDS_MAX); /* `steps` is constant */
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

/* Run the step's command as if it had been typed, with the width of the lesson. */
static int run_line(struct tour *tour, const char *line, struct err *err)
{
    char *words[WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    if (read_words(words, &count, line, &tour->arena, err))
        return -1;
    if (tour->options->looks.width &&
        !(words[count] = arena_format(&tour->arena, err, "--width=%zu", tour->columns)))
        return -1;
    return command_do(words[1], words + 2, &tour->arena, err);
}

/* Write a line before the next step, or how to continue. */
static void write_end(struct stream *out, const struct tour *tour, size_t step)
{
    if (step + 1 < tour->end) {
        for (size_t i = 0; i < tour->columns; i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    } else if (step + 1 < STEPS) {
        stream_format(out, "next: attn-cli lesson %zu\n", step + 2);
    } else {
        text_wrap(out, "This was the last step. Try your own text: attn-cli run -s \"…\"", 0, 0,
                  tour->columns);
    }
}

static int show_step(struct tour *tour, size_t step, struct err *err)
{
    static const char mark[] = "Look: ";
    const struct page_lesson *row = &steps[step];
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_format(&out, "%zu/%d  ", step + 1, STEPS);
    text_wrap(&out, row->title, TITLE_COLUMN, TITLE_COLUMN, tour->columns);
    stream_char(&out, '\n');
    text_wrap(&out, row->before, 0, 0, tour->columns);
    stream_format(&out, "\n$ %s\n\n", row->line);
    if (stream_commit(&out, err))
        return -1;
    if (run_line(tour, row->line, err))
        return err_prefix(err, "step %zu", step + 1);
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_format(&out, "\n%s", mark);
    text_wrap(&out, row->look, sizeof mark - 1, 0, tour->columns);
    stream_char(&out, '\n');
    write_end(&out, tour, step);
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

/* --- why scores are scaled -------------------------------------------------------------------- */

enum { RANDOM_WORDS = 64, WIDEST = 1024 };

static const char scale_before[] =
    "Each of 64 random words attends to 64 others, without weight matrices: q and k are d normal "
    "numbers. The variance of q·k is about d, that of q·k/√d about 1. Without the scale one key "
    "gets nearly all of the weight, and the slope of softmax, w(1-w), on which training depends, "
    "goes to 0.";

static const char scale_commands[] =
    "\n$ for d in 4 16 64 256 1024; do\n"
    "    attn-cli init --like journey -s \"$(seq -s ' ' -f w%03g 128)\" -o d$d \\\n"
    "        --set n_embd=$d,attention=cross\n"
    "    attn-cli run -m ./d$d -s \"$(seq -s ' ' -f w%03g 64)\" \\\n"
    "        --source \"$(seq -s ' ' -f w%03g 65 128)\" --scale sqrt \\\n"
    "        --show scores,masked,weights --stats --format csv # --scale none: without √d\n"
    "done\n";

/* What the commands below the table compute: init draws the words, as torch.randn does. */
struct scale_row {
    double variance;
    double largest, slope; /* means over queries, and over weights */
};

static int measure_scale(struct scale_row *row, const float *words, size_t width, double scale)
{
    enum { CELLS = RANDOM_WORDS * RANDOM_WORDS };
    float scores[CELLS];
    double sum = 0;
    double squares = 0;
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

static int show_scale(struct tour *tour, struct err *err)
{
    struct stream out;
    struct torch_random random;
    float *words = arena_alloc(&tour->arena, 2 * RANDOM_WORDS * WIDEST, sizeof *words, err);
    if (!words || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    text_wrap(&out, scale_before, 0, 0, tour->columns);
    stream_text(&out, "\n         variance          largest weight    w(1-w)\n"
                      "    d    q·k      q·k/√d   q·k     q·k/√d    q·k     q·k/√d\n");
    for (size_t d = 4; d <= WIDEST; d *= 4) {
        struct scale_row plain, scaled;
        torch_random_seed(&random, ORIGIN_SEED);
        torch_random_normal(&random, words, 2 * RANDOM_WORDS * d, 0, 1);
        if (measure_scale(&plain, words, d, 1) ||
            measure_scale(&scaled, words, d, 1 / sqrt((double)d)))
            return err_set(err, "softmax: expected finite scores");
        stream_format(&out, "%5zu  %8.2f  %6.2f   %.4f  %.4f    %.4f  %.4f\n", d, plain.variance,
                      scaled.variance, plain.largest, scaled.largest, plain.slope, scaled.slope);
    }
    stream_text(&out, scale_commands);
    return stream_commit(&out, err);
}

/* --- the HTML page ---------------------------------------------------------------------------- */

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
    if (lesson.is_walk && tour->options->model.name)
        options.model.name = tour->options->model.name;
    if (lesson.is_walk && options_own(tour->options)->sentence)
        options.input.sentences.items[0] = options_own(tour->options)->sentence;
    if (lesson.is_walk)
        lesson.line = "";
    else if (!(lesson.title = arena_format(&tour->arena, err, "%zu  %s", step + 1, lesson.title)))
        return -1;
    return page_add_lesson(&tour->output, &tour->place, &options, &lesson, err)
               ? err_prefix(err, "step %zu", step + 1)
               : 0;
}

static int write_page(struct tour *tour, struct err *err)
{
    bool all = tour->end - tour->first == STEPS;
    struct output_options output = tour->options->output;
    output.format = "html";
    if (looks_read(&tour->style, tour->options, err) || output_choose(&tour->output, &output, err))
        return -1;
    if (tour->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'",
                         tour->output.path);
    tour->style.title = "Attention in eleven steps";
    tour->place = page_place(tour->options, &tour->style);
    tour->place.count = tour->end - tour->first + all;
    for (size_t step = tour->first; step < tour->end + all; step++)
        if (add_step(tour, step, err))
            return -1;
    return output_commit(&tour->output, err);
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_options(const struct tour *tour, struct err *err)
{
    const char *path = tour->options->output.path;
    const char *own_walk = tour->options->model.name              ? "model"
                           : options_own(tour->options)->sentence ? "sentence"
                                                                  : NULL;
    if (options_exclude(tour->options, "list", "output", err))
        return -1;
    if (path && !name_ends_in(path, ".html"))
        return err_usage(err, "--output: expected a name that ends in .html, found '%s'", path);
    if (own_walk && (!path || tour->end - tour->first < STEPS))
        return err_usage(err, "--%s applies only to the page of all steps: expected -o FILE.html",
                         own_walk);
    return 0;
}

/* Choose the step of the operand, or all. The default is step 1 for text, else all. */
static int choose_steps(struct tour *tour, struct err *err)
{
    const struct texts *operands = &tour->options->input.operands;
    bool usually_all = options_own(tour->options)->list || tour->options->output.path;
    const char *name = operands->count ? operands->items[0] : usually_all ? "all" : "1";
    long long step = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one step, found '%s' as well", operands->items[1]);
    tour->end = STEPS;
    tour->scale = operands->count && strcmp(*operands->items, "scale") == 0;
    if (tour->scale && usually_all)
        return err_usage(err, "lesson scale is text only: --list and --output do not apply");
    if (tour->scale || strcmp(name, "all") == 0)
        return 0;
    if (!num_parse_integer(name, 1, STEPS, &step))
        return err_usage(
            err, "expected a step from 1 to %d, all or scale, found '%s': --list shows them", STEPS,
            name);
    tour->first = (size_t)step - 1;
    tour->end = (size_t)step;
    return 0;
}

int lesson_command(const struct options *options, struct err *err)
{
    struct tour tour = {.options = options};
    int failed = choose_steps(&tour, err) || check_options(&tour, err);
    tour.columns = page_place(options, NULL).columns;
    if (!failed && options->output.path)
        failed = write_page(&tour, err);
    else if (!failed && tour.scale)
        failed = show_scale(&tour, err);
    else if (!failed && options_own(options)->list)
        failed = write_list(&tour, err);
    else
        for (size_t step = tour.first; !failed && step < tour.end; step++)
            failed = show_step(&tour, step, err);
    output_discard(&tour.output);
    arena_release(&tour.arena);
    return err_if(failed);
}
