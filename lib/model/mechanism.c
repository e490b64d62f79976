#include "model/mechanism.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"
#include "model/layer.h"

enum {
    SIZE_MAX_GIVEN = 100000000, /* maximum value of a number in --attention, except a seed; no text
                                 * has this many tokens */
    SCALE_MAX = 1000000,
};

#define NUMBER(field) offsetof(struct mechanism, field)

const struct attention_kind_row attention_kind_rows[] = {
    {"dense", NULL, ATTENTION_DENSE, 0, "all keys that the mask allows (default)"},
    {"window", "W", ATTENTION_SPARSE, NUMBER(pattern.window),
     "the last W keys, including the query's own; without a mask also the next W-1"},
    {"strided", "S", ATTENTION_SPARSE, NUMBER(pattern.stride),
     "keys whose distance from the query is a multiple of S"},
    {"global", "G", ATTENTION_SPARSE, NUMBER(pattern.global),
     "the first G keys; the first G queries attend to all"},
    {"random", "K[:SEED]", ATTENTION_SPARSE, NUMBER(pattern.random),
     "the query's own key and K other random keys"},
    {"sqrt", NULL, ATTENTION_SPARSE, NUMBER(pattern.root),
     "window and stride of √n, rounded up, in a text of n tokens: n√n query-key pairs"},
    {"log", NULL, ATTENTION_SPARSE, NUMBER(pattern.log),
     "keys at the distances 0, 1, 2, 4, 8, …: n log n query-key pairs"},
    {"linear", NULL, ATTENTION_LINEAR, 0,
     "linear attention: weights φ(q)·φ(k) / their sum, with φ(x) = elu(x) + 1"},
    {"blocked", "B", ATTENTION_BLOCKED, NUMBER(block),
     "dense attention, computed B keys at a time with an online softmax"},
    {"lowrank", "R", ATTENTION_LOWRANK, NUMBER(segments),
     "R segments of the text, each with the mean of its keys and of its values (no causal mask)"},
};

const size_t attention_kind_row_count = sizeof attention_kind_rows / sizeof *attention_kind_rows;

struct mechanism_word {
    const char *text;
    size_t size;
};

static struct mechanism_word word_up_to(const char *text, const char *ends)
{
    return (struct mechanism_word){text, strcspn(text, ends)};
}

/* --- attention -------------------------------------------------------------------------------- */

/* Find the row of a kind of attention by its name; NULL, with `err`: there is no such kind. */
static const struct attention_kind_row *find_attention(struct mechanism_word word, struct err *err)
{
    struct buf known = {0};
    char guess[NAMES_GUESS_BYTES];
    size_t index = 0;
    struct names names = NAMES(attention_kind_rows, attention_kind_row_count);
    if (names_find(&index, names, word.text, word.size))
        return &attention_kind_rows[index];
    for (size_t i = 0; i < attention_kind_row_count; i++) {
        bool last = i + 1 == attention_kind_row_count;
        const char *joint = last ? " or " : ", ";
        buf_text(&known, i == 0 ? "" : joint);
        buf_text(&known, attention_kind_rows[i].name);
        if (attention_kind_rows[i].numbers)
            buf_format(&known, ":%s", attention_kind_rows[i].numbers);
    }
    err_usage(err, "--attention: expected %s, found '%.*s'%s", known.bytes ? known.bytes : "",
              (int)word.size, word.text,
              names_guess(guess, names_nearest(names, word.text, word.size)));
    buf_release(&known);
    return NULL;
}

/* Parse what follows the name of a kind: nothing, `:W` or `:K:SEED`, and set the kind's numbers in
 * `mechanism`. */
static int set_numbers(struct mechanism *mechanism, const struct attention_kind_row *row,
                       struct mechanism_word rest, struct err *err)
{
    long long number = 0;
    size_t *field = (size_t *)(void *)((char *)mechanism + row->offset);
    if (!row->numbers && rest.size)
        return err_usage(err, "--attention: '%s' takes no number, found '%.*s'", row->name,
                         (int)rest.size, rest.text);
    if (!row->offset)
        return 0;
    struct mechanism_word digits = {rest.text + (rest.size > 0), rest.size ? rest.size - 1 : 0};
    bool seeded = row->offset == NUMBER(pattern.random);
    if (seeded && memchr(digits.text, ':', digits.size))
        digits.size = strcspn(digits.text, ":");
    if (!row->numbers)
        number = 1;
    else if (!num_parse_part(digits.text, digits.size, 1, SIZE_MAX_GIVEN, &number))
        return err_usage(err,
                         "--attention: expected a whole number from 1 to %d in '%s:%s', found "
                         "'%.*s'",
                         SIZE_MAX_GIVEN, row->name, row->numbers, (int)digits.size, digits.text);
    if (*field)
        return err_usage(err, "--attention: expected each pattern once, found '%s' twice",
                         row->name);
    *field = (size_t)number;
    const char *after = digits.text + digits.size, *end = rest.text + rest.size;
    if (!seeded)
        return 0;
    mechanism->pattern.seed = mechanism->seed;
    if (after == end)
        return 0;
    digits = (struct mechanism_word){after + 1, (size_t)(end - after - 1)};
    if (!num_parse_part(digits.text, digits.size, 0, LLONG_MAX, &number))
        return err_usage(err,
                         "--attention random: expected a seed from 0 to %lld after the second "
                         "colon, found '%.*s'",
                         LLONG_MAX, (int)digits.size, digits.text);
    mechanism->pattern.seed = (uint64_t)number;
    return 0;
}

int mechanism_set_attention(struct mechanism *mechanism, const char *text, struct err *err)
{
    bool joined = strchr(text, '+') != NULL;
    mechanism->pattern = (struct pattern){0};
    mechanism->block = mechanism->segments = 0;
    for (const char *at = text;; at++) {
        struct mechanism_word item = word_up_to(at, "+");
        struct mechanism_word name = word_up_to(at, ":+");
        const struct attention_kind_row *row = find_attention(name, err);
        struct mechanism_word rest = {at + name.size, item.size - name.size};
        if (!row)
            return -1;
        if (joined && row->kind != ATTENTION_SPARSE)
            return err_usage(
                err,
                "--attention: '+' combines window, strided, global, random, sqrt and log, found "
                "'%s'",
                row->name);
        mechanism->kind = row->kind;
        if (set_numbers(mechanism, row, rest, err))
            return -1;
        at += item.size;
        if (*at == '\0')
            return 0;
    }
}

/* --- scale, and modules left out -------------------------------------------------------------- */

int mechanism_set_scale(struct mechanism *mechanism, const char *text, struct err *err)
{
    static const char *const words[] = {"none", "sqrt"};
    char guess[NAMES_GUESS_BYTES];
    double number = 1;
    mechanism->scale_method = strcmp(text, "sqrt") == 0 ? SCALE_SQRT : SCALE_NUMBER;
    if (mechanism->scale_method == SCALE_NUMBER && strcmp(text, "none") != 0 &&
        !num_parse_double(text, -SCALE_MAX, SCALE_MAX, &number))
        return err_usage(err,
                         "--scale: expected none, sqrt or a number from -%d to %d, found '%s'%s",
                         SCALE_MAX, SCALE_MAX, text,
                         names_guess(guess, names_nearest(NAMES_LIST(words), text, strlen(text))));
    mechanism->scale = (float)number;
    return 0;
}

const char *const block_module_names[BLOCK_MODULES] = {
    [BLOCK_MLP] = "mlp",           [BLOCK_NORM] = "norm",
    [BLOCK_RESIDUAL] = "residual", [BLOCK_POSITIONS] = "positions",
    [BLOCK_MASK] = "mask",
};

int mechanism_set_without(struct mechanism *mechanism, const char *text, struct err *err)
{
    return names_choose_set(&mechanism->without, NAMES_LIST(block_module_names), "--without", text,
                            err);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void begin_item(struct buf *out, size_t before, const char *name)
{
    buf_format(out, "%s%s ", out->size > before ? ", " : "", name);
}

void mechanism_write_attention(struct buf *out, const struct mechanism *mechanism)
{
    const char *joint = "";
    for (size_t i = 0; i < attention_kind_row_count; i++) {
        const struct attention_kind_row *row = &attention_kind_rows[i];
        const char *field = (const char *)mechanism + row->offset;
        size_t number = 0;
        if (row->offset)
            memcpy(&number, field, sizeof number);
        if (row->kind != mechanism->kind || (row->offset && !number))
            continue;
        buf_format(out, "%s%s", joint, row->name);
        joint = "+";
        if (row->numbers)
            buf_format(out, ":%zu", number);
        if (row->offset == NUMBER(pattern.random))
            buf_format(out, ":%llu", (unsigned long long)mechanism->pattern.seed);
    }
}

const char *mechanism_attention_name(const struct mechanism *mechanism, struct arena *arena,
                                     struct err *err)
{
    struct buf text = {0};
    mechanism_write_attention(&text, mechanism);
    return buf_keep(&text, arena, err);
}

static void write_number(struct buf *out, float number)
{
    char text[NUM_FLOAT_BYTES];
    buf_bytes(out, text, num_float(text, number));
}

void mechanism_write(struct buf *out, const struct mechanism *m)
{
    size_t before = out->size;
    if (m->kind != ATTENTION_DENSE) {
        begin_item(out, before, "attention");
        mechanism_write_attention(out, m);
    }
    if (m->renormalise)
        buf_format(out, "%smask-after", out->size > before ? ", " : "");
    if (m->scale_method != SCALE_OF_MODEL) {
        begin_item(out, before, "scale");
        if (m->scale_method == SCALE_SQRT)
            buf_text(out, "sqrt");
        else
            write_number(out, m->scale);
    }
    if (m->temperature > 0) {
        begin_item(out, before, "attention-temperature");
        write_number(out, m->temperature);
    }
    if (m->dropout > 0) {
        begin_item(out, before, "dropout");
        write_number(out, m->dropout);
        buf_format(out, " seed %llu", (unsigned long long)m->seed);
    }
    for (int module = 0; module < BLOCK_MODULES; module++) {
        if (!mechanism_lacks(m, (enum block_module)module))
            continue;
        begin_item(out, before, "without");
        buf_text(out, block_module_names[module]);
    }
}

/* Refuse to leave out parts that the model lacks, or that other code relies on. */
static int check_without(const struct mechanism *m, const struct config *config, struct err *err)
{
    const unsigned mask = 1U << BLOCK_MASK;
    if (m->without & ~mask && config->kind == MODEL_ATTENTION)
        return err_usage(err, "--without: expected a model of type \"gpt2\" or \"transformer\": "
                              "bare attention has none of these parts");
    if (m->without && config->mixer.heads)
        return err_unsupported(err,
                               "--without: expected a model without layers that keep a "
                               "state, found one of type \"%s\"",
                               config_kind_name(config));
    if (!(m->without & mask))
        return 0;
    if (!config->causal)
        return err_usage(err,
                         "--without mask: expected a causal model: this one has no causal mask");
    if (m->renormalise)
        return err_usage(err, "--mask-after cannot be combined with --without mask");
    if (config->score_bias == BIAS_BUCKETS && !mechanism_lacks(m, BLOCK_POSITIONS))
        return err_unsupported(err,
                               "--without mask: expected a model without biases of distances, "
                               "found one of type \"%s\": it has none for later keys: use "
                               "--without mask,positions",
                               config_kind_name(config));
    return 0;
}

static int check_family(const struct mechanism *m, const struct config *config, struct err *err)
{
    bool alibi = config->score_bias && !mechanism_lacks(m, BLOCK_POSITIONS);
    bool is_dense = m->kind == ATTENTION_DENSE || m->kind == ATTENTION_BLOCKED;
    if (config->sinks && (!is_dense || m->renormalise))
        return err_unsupported(err,
                               "%s: expected a model without attention sinks, found one of type "
                               "\"%s\": use --attention dense or blocked:B",
                               is_dense ? "--mask-after" : "--attention", config_kind_name(config));
    if (config->differs && m->kind != ATTENTION_DENSE)
        return err_unsupported(err,
                               "--attention: expected a model without differences of heads, found "
                               "one of type \"%s\": use --attention dense",
                               config_kind_name(config));
    if (m->kind == ATTENTION_LINEAR && (alibi || config->score_cap > 0))
        return err_unsupported(err,
                               "--attention linear: expected a model without %s, found one of type "
                               "\"%s\": linear attention has no scores",
                               alibi && config->score_bias >= BIAS_BUCKETS ? "biases of distances"
                               : alibi                                     ? "ALiBi"
                                                                           : "a cap of scores",
                               config_kind_name(config));
    if (m->kind == ATTENTION_LOWRANK && alibi)
        return err_unsupported(err,
                               "--attention lowrank: expected a model without biases of distances, "
                               "found one of type \"%s\": a segment has no distance",
                               config_kind_name(config));
    const struct layer *first = layer_of(config, BRANCH_TEXT, 0);
    bool apart = true; /* whether every sublayer reads the stream to which the sublayer before it
                        * has added its output */
    for (const struct sublayer *s = first->sublayers; s < first->sublayers + first->all; s++)
        apart &= s->reads == READS_STREAM && !s->adds_to_normed;
    if (!apart && mechanism_lacks(m, BLOCK_RESIDUAL))
        return err_unsupported(err,
                               "--without residual: expected attention and MLP in sequence, each "
                               "with a residual connection, found type \"%s\"",
                               config_kind_name(config));
    return 0;
}

int mechanism_check(const struct mechanism *m, const struct config *config, struct err *err)
{
    const char *of_softmax = m->scale_method != SCALE_OF_MODEL ? "scale"
                             : m->temperature > 0              ? "attention-temperature"
                             : m->dropout > 0                  ? "dropout"
                                                               : NULL;
    if (check_without(m, config, err))
        return -1;
    if (m->kind == ATTENTION_SPARSE && config_is_cross(config))
        return err_usage(err, "--attention: expected dense, linear or blocked:B for "
                              "cross-attention, found a pattern");
    if (m->renormalise && !config->causal)
        return err_usage(err, "--mask-after: expected a causal model: this one has no causal mask");
    if (m->renormalise && m->kind != ATTENTION_DENSE)
        return err_usage(err,
                         "--mask-after: expected --attention dense: its softmax is over all keys");
    if (m->kind == ATTENTION_LINEAR && of_softmax)
        return err_usage(err,
                         "--%s cannot be combined with --attention linear, which has no scale and "
                         "no softmax",
                         of_softmax);
    if (m->kind == ATTENTION_LOWRANK && config_is_causal(config))
        return err_usage(err, "--attention lowrank: expected a model without a causal mask: a "
                              "segment also contains later tokens");
    if (m->kind == ATTENTION_LOWRANK && m->dropout > 0) /* all tokens of a segment share one weight,
                                                         * which dropout would have to split */
        return err_usage(err, "--dropout cannot be combined with --attention lowrank");
    return check_family(m, config, err);
}
