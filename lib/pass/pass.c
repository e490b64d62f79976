/* pass.c: functions that the steps of a pass share: where the pass may stop, products and norms,
 * dropout, and values for the tap. */
#include "pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "math/rows.h"
#include "model/head_name.h"
#include "pass/cache.h"
#include "model/family/family.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- what must be computed -------------------------------------------------------------------- */

bool pass_watches(const struct pass *pass, enum site id, size_t layer)
{
    return watch_has(pass->tap->watch, SITE_OF(pass->branch, id), layer);
}

bool pass_goes_to(const struct pass *pass, enum site id, size_t layer)
{
    return site_order(pass->config, SITE_OF(pass->branch, id), layer) <= pass->end;
}

enum pass_state pass_after(const struct pass *pass, enum site id, size_t layer)
{
    return site_order(pass->config, SITE_OF(pass->branch, id), layer) < pass->end ? PASS_ON
                                                                                  : PASS_OVER;
}

size_t pass_heads_of(const struct pass *pass, enum site site, size_t layer)
{
    return site_heads(pass->config, SITE_OF(pass->branch, site), layer);
}

struct span pass_heads(const struct pass *pass, enum site site, size_t layer)
{
    const struct watch *watch = pass->tap->watch;
    bool of_keys = site_axes(SITE_OF(pass->branch, site)) == AXES_KV_HEAD_TOKEN_DIM;
    size_t heads = pass_heads_of(pass, site, layer);
    size_t group = num_max(pass->stack->heads / heads, 1);
    if (watch->head_count == 0 || pass->branch == BRANCH_MIXER ||
        site_axes(SITE_OF(pass->branch, site)) == AXES_COPY_TOKEN_CHANNEL ||
        pass_goes_to(pass, SITE_ATTN_OUT, layer) ||
        stack_head(pass->config, pass->branch, layer)->differ > 0 ||
        (of_keys && pass->batch->cached))
        return (struct span){0, heads};
    size_t first = num_min(watch->first_head / group, heads); /* limited to `heads`, because an
                                                               * encoder may have fewer heads than
                                                               * the decoder */
    size_t end = num_min((watch->first_head + watch->head_count - 1) / group + 1, heads);
    return (struct span){first, end - first};
}

struct batch_rows pass_logit_rows(const struct pass *pass, size_t text)
{
    return pass->tap->watch->last_logits ? (struct batch_rows){text, 1, 0}
                                         : pass->batch->queries[text];
}

struct batch_rows pass_rows(const struct pass *pass, enum site site, size_t text)
{
    if (site == SITE_LOGITS)
        return pass_logit_rows(pass, text);
    if (site == SITE_POOLED)
        return (struct batch_rows){text, 1, 0};
    bool of_keys = site_axes(site) == AXES_KV_HEAD_TOKEN_DIM;
    return (of_keys ? pass->batch->keys : pass->batch->queries)[text];
}

enum precision pass_attention_precision(const struct pass *pass)
{
    const struct sublayer *first = first_attention(pass->config, pass->branch);
    bool pairs = first && first->score.kind == ATTENTION_DENSE && !pass->weights->widens;
    return pairs ? pass->weights->precision : PRECISION_FP32;
}

struct cache *pass_cache(const struct pass *pass, size_t index)
{
    const struct text *text = &pass->batch->texts[index];
    return pass->branch == BRANCH_CROSS ? text->source_cache : text->cache;
}

/* --- products and norms ----------------------------------------------------------------------- */

enum pass_state pass_product(struct pass *pass, struct slot slot, struct matrix y, struct matrix x,
                             enum activation activation)
{
    struct weight w;
    if (weights_matrix(pass->weights, slot, &w, pass->err))
        return PASS_FAILED;
    linear(pass->machine, y, x, &w, activation);
    return PASS_ON;
}

struct norm_job {
    struct matrix y, x;
    struct norm norm;
};

enum { NORM_ROWS = 8 }; /* rows that a thread norms at a time */

static void norm_some(void *context, size_t round, size_t thread)
{
    const struct norm_job *job = context;
    size_t first = round * NORM_ROWS;
    size_t count = num_min(job->x.rows - first, NORM_ROWS);
    (void)thread;
    norm_rows(matrix_rows(job->y, first, count), matrix_rows(job->x, first, count), &job->norm);
}

enum pass_state pass_norm(struct pass *pass, struct slot slot, struct matrix y, struct matrix x)
{
    enum { WORTH = 16 }; /* estimated cost of an element, in multiply-adds */
    struct norm_job job = {.y = y, .x = x};
    size_t rounds = (x.rows + NORM_ROWS - 1) / NORM_ROWS;
    double work = WORTH * (double)x.rows * (double)x.columns;
    if (weights_norm(pass->weights, slot, &job.norm, pass->err))
        return PASS_FAILED;
    if (!mechanism_lacks(&pass->config->mechanism, BLOCK_NORM))
        pool_run(pass->machine->pool, (struct loop){rounds, work, norm_some}, &job);
    else if (y.data != x.data)
        copy_rows(y, x);
    return PASS_ON;
}

/* --- dropout ---------------------------------------------------------------------------------- */

struct dropout dropout_at(const struct dropout *all, enum site_branch branch, size_t layer,
                          enum dropout_place place)
{
    uint64_t key = branch == BRANCH_TEXT ? all->key : rng_fold_in(all->key, (uint64_t)branch);
    return (struct dropout){rng_fold_in(key, layer * DROP_PLACES + place), all->rate};
}

enum { DROP_ROWS = 64 }; /* rows that a thread processes at a time */

struct drop_job {
    struct dropout dropout;
    struct matrix rows;
};

static void drop_some(void *context, size_t round, size_t thread)
{
    const struct drop_job *job = context;
    const size_t end = num_min(job->rows.rows, (round + 1) * DROP_ROWS);
    (void)thread;
    for (size_t row = round * DROP_ROWS; row < end; row++)
        rng_dropout(matrix_row(job->rows, row), job->rows.columns, job->dropout.key, row,
                    job->dropout.rate);
}

void dropout_rows(struct machine *machine, const struct dropout *all, enum site_branch branch,
                  size_t layer, enum dropout_place place, struct matrix rows)
{
    enum { WORTH = 8 }; /* estimated cost of an element, in multiply-adds */
    struct drop_job job = {dropout_at(all, branch, layer, place), rows};
    double work = WORTH * (double)rows.rows * (double)rows.columns;
    if (all->rate > 0)
        pool_run(machine->pool,
                 (struct loop){(rows.rows + DROP_ROWS - 1) / DROP_ROWS, work, drop_some}, &job);
}

/* --- values for the tap ----------------------------------------------------------------------- */

/* Fail with a message such as "'h.0.scores' of L0H1: expected …, found … (text 0)". */
enum pass_state pass_fail(struct pass *pass, const struct pass_position *position,
                          const char *expected)
{
    char site[SITE_NAME_BYTES];
    char name[HEAD_NAME_BYTES], of_head[HEAD_NAME_BYTES + 4] = "";
    site_tensor_name(site, SITE_OF(pass->branch, position->site), (int)position->layer);
    if (position->head != NO_HEAD)
        snprintf(of_head, sizeof of_head, " of %s",
                 head_name(name, position->layer, position->head));
    err_set(pass->err, "'%s'%s: expected %s (text %zu)", site, of_head, expected,
            pass->batch->first + position->text);
    return PASS_FAILED;
}

enum pass_state pass_fail_number(struct pass *pass, const struct pass_position *position)
{
    bool in_layer = site_row(position->site)->in_layer;
    int layer = in_layer ? (int)(pass->first_layer + position->layer) : -1;
    if (weights_check_finite(pass->weights, layer, pass->err))
        return PASS_FAILED;
    return pass_fail(pass, position, "finite numbers, found infinity or nan");
}

/* Return the first column in which any row has infinity or NaN; the number of columns if all
 * numbers are finite. */
static size_t nonfinite_column(struct matrix rows)
{
    size_t lowest = rows.columns;
    for (size_t row = 0; row < rows.rows; row++)
        lowest = num_min(lowest, first_nonfinite(matrix_row(rows, row), rows.columns));
    return lowest;
}

/* Fail if a number in a text's rows is not finite. `width` is the number of columns of one head;
 * position.head is the index of the first head, or NO_HEAD. Rows are checked with all heads at
 * once, which is several times faster than head by head. */
static enum pass_state check_finite(struct pass *pass, struct pass_position position,
                                    struct matrix rows, size_t width)
{
    size_t lowest = nonfinite_column(rows);
    if (lowest == rows.columns)
        return PASS_ON;
    if (position.head != NO_HEAD)
        position.head += lowest / width;
    return pass_fail_number(pass, &position);
}

enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct batch_rows span = pass->batch->queries[s];
        PASS_TRY(check_finite(pass, (struct pass_position){site, layer, s, .head = NO_HEAD},
                              matrix_rows(rows, span.first, span.count), rows.columns));
    }
    return PASS_ON;
}

int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values)
{
    struct announcement announced = {
        .site = SITE_OF(pass->branch, site),
        .layer = site_row(site)->in_layer ? (int)layer : -1,
        .text = text,
        .values = values,
    };
    return pass->tap->sink(pass->tap->context, &announced, pass->err);
}

/* The rows of a site, which are passed to the tap text by text. */
struct shown_rows {
    struct pass *pass;
    enum site site;
    size_t layer, heads;
    struct matrix rows;
    struct span watched; /* the heads that are watched */
};

static enum pass_state show_text(const struct shown_rows *shown, size_t text)
{
    struct pass *pass = shown->pass;
    const bool has_heads = site_has_heads(shown->site);
    const size_t width = shown->rows.columns / shown->heads;
    const struct batch_rows span = pass_rows(pass, shown->site, text);
    const struct matrix own = matrix_rows(shown->rows, span.first, span.count);
    const struct pass_position position = {shown->site, shown->layer, text,
                                           .head = has_heads ? shown->watched.first : NO_HEAD};
    struct tensor values = {
        .data = own.data,
        .rank = 3,
        .shape = {shown->heads, own.rows, width},
        .stride = {width, own.stride, 1},
    };
    if (span.count == 0)
        return PASS_ON;
    if (!pass->tap->room)
        PASS_TRY(check_finite(
            pass, position,
            matrix_columns(own, shown->watched.first * width, shown->watched.count * width),
            width));
    return tap_show(pass, shown->site, shown->layer, text,
                    has_heads ? values : tensor_slice(&values, 0))
               ? PASS_FAILED
               : PASS_ON;
}

/* Pass the rows of one text to a sink that several threads may call. Round 0 handles text 1,
 * because text 0 has been passed before. */
static void share_text(void *context, size_t round, size_t thread)
{
    (void)thread;
    show_text(context, round + 1);
}

enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    pass_edit_rows(pass, site, layer, rows);
    return tap_unedited(pass, site, layer, rows);
}

enum pass_state tap_unedited(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    enum { COST = 4 }; /* estimated cost of an element, in multiply-adds */
    const size_t heads = pass_heads_of(pass, site, layer), texts = pass->batch->count;
    const double work = COST * (double)rows.rows * (double)rows.columns;
    struct shown_rows shown = {pass, site, layer, heads, rows, {0, 1}};
    if (site_has_heads(site))
        shown.watched = pass_heads(pass, site, layer);
    for (size_t s = 0; pass_watches(pass, site, layer) && s < texts; s++) {
        PASS_TRY(show_text(&shown, s));
        if (!pass->tap->room || texts == 1)
            continue;
        pool_run(pass->machine->pool, (struct loop){texts - 1, work, share_text}, &shown);
        break;
    }
    return pass_after(pass, site, layer);
}

struct matrix pass_lent(const struct pass *pass, enum site site, size_t layer, struct matrix own)
{
    struct tap *tap = pass->tap;
    if (!tap || !tap->room || !pass_watches(pass, site, layer))
        return own;
    const int of = site_row(site)->in_layer ? (int)layer : -1;
    float *to = tap->room(tap->context, SITE_OF(pass->branch, site), of, own.rows * own.columns);
    return to ? (struct matrix){to, own.rows, own.columns, own.columns} : own;
}
