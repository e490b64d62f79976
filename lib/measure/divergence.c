#include "measure/divergence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "measure/alignment.h"
#include "measure/mistakes.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/sampler.h"

/* A tensor of the dump, and our tensor of the same site. */
struct pairing {
    const struct dumped *theirs;
    const struct named_site *name;
    struct named_site own; /* a copy of `name` with the site that the name means in this dump */
    struct array_match found;
    double tolerance;
    double bf16; /* largest difference between our passes in float32 and in bfloat16, divided by our
                  * largest number */
    bool sum_differs;
    size_t order, index;
};

struct divergence {
    const struct divergence_plan *plan;
    const struct config *config;
    struct pairing *pairs; /* [count] the tensors to compare, in the order of the pass */
    size_t count, agreeing;
    size_t first;       /* index of the first pair that differs; `count`: all agree */
    struct buf unknown; /* list of names in the dump that are not known, each once */
    size_t unknown_count;
    struct hash_table unknown_names;
    struct report ours, bf16;
    struct arena *arena;
    struct err *err;
};

/* --- names ------------------------------------------------------------------------------------ */

/* Add a name that is not known to the list, once, with L in place of layer numbers. */
static int note_unknown(struct divergence *d, const char *name, const char *why)
{
    enum { LISTED = 12 };
    char *text = arena_text(d->arena, name, strlen(name), d->err), *to = text;
    for (const char *from = text; from && *from; to++) {
        size_t digits = to > text && (to[-1] == '.' || to[-1] == '-' || to[-1] == '_')
                            ? strspn(from, "0123456789")
                            : 0;
        *to = digits ? 'L' : *from;
        from += digits ? digits : 1;
    }
    if (!text)
        return -1;
    *to = '\0';
    if (hash_table_get(&d->unknown_names, text, strlen(text), NULL))
        return 0;
    if (d->unknown_count++ < LISTED)
        buf_format(&d->unknown, "%s%s%s", d->unknown.size ? ", " : "", text, why);
    else if (d->unknown_count == LISTED + 1)
        buf_text(&d->unknown, ", …");
    return hash_table_put(&d->unknown_names, text, strlen(text), 0, d->err);
}

/* True if a log says that a tensor is rotated. In a log, the product that makes queries or keys has
 * the same name as the rotated vector. If several tensors belong to one site, the last is used. */
static bool is_rotated(const struct dumped *theirs)
{
    return theirs->op && strncmp(theirs->op, "ROPE", 4) == 0;
}

static int find_pairs(struct divergence *d)
{
    const struct dump *dump = d->plan->dump;
    for (size_t i = 0; i < dump->count; i++) {
        const struct dumped *theirs = &dump->items[i];
        const char *name = theirs->entry.name;
        const struct named_site *n = site_names_find(d->plan->names, name);
        if (dump->is_log && !site_is_llama_cpp_name(name))
            n = NULL;
        if (!n && !(dump->is_log && strchr(name, ' ')) && note_unknown(d, name, ""))
            return -1;
        for (; n; n = n->next) {
            struct pairing pair = {.theirs = theirs, .name = n, .own = *n, .index = i};
            size_t at = 0;
            bool of_q = n->site == SITE_Q || n->site == SITE_K;
            bool turns = of_q && stack_head(d->config, BRANCH_TEXT, n->layer)->rotary;
            if (theirs->op && turns && !is_rotated(theirs)) {
                if (n->other == SITE_PASS_END || strcmp(theirs->op, "SCALE") == 0)
                    continue; /* an intermediate result, which is at no site of ours */
                pair.own.site = n->other;
            }
            if (theirs->op && turns)
                pair.own.other = SITE_PASS_END;
            while (at < d->count && !(dump->is_log && d->pairs[at].name == n &&
                                      d->pairs[at].own.site == pair.own.site))
                at++;
            struct pairing *pairs =
                at < d->count ? d->pairs
                              : arena_grow(d->arena, d->pairs, d->count, sizeof *pairs, d->err);
            if (!pairs)
                return -1;
            d->pairs = pairs;
            pairs[at] = pair;
            d->count += at == d->count;
        }
    }
    return d->count ? 0
                    : err_set(d->err,
                              "expected names of the model's tensors (info --sites; or --names), "
                              "found none: %s",
                              buf_check(&d->unknown, d->err) ? "" : d->unknown.bytes);
}

/* --- passes ----------------------------------------------------------------------------------- */

static int select_all(struct selection *selection, const struct divergence *d)
{
    *selection = (struct selection){0};
    for (size_t i = 0; i < d->count; i++) {
        site_set_add(&selection->sites, d->pairs[i].own.site);
        if (d->pairs[i].own.other != SITE_PASS_END)
            site_set_add(&selection->sites, d->pairs[i].own.other);
    }
    return selection_layers(selection, NULL, d->config, d->arena, d->err);
}

static const struct array *array_of(const struct report *report, const struct named_site *name,
                                    enum site site)
{
    return report_find(report, site, site_row(name->site)->in_layer ? name->layer : SIZE_MAX);
}

static double tolerance_of(const struct divergence *d, const struct dumped *theirs)
{
    const enum dtype dtype = theirs->entry.dtype;
    if (d->plan->tolerance > 0)
        return d->plan->tolerance;
    if (theirs->is_printed) { /* a log of llama.cpp, which keeps keys and values in float16 */
        const struct weights *weights = &d->plan->viewer->model.weights;
        for (size_t i = 0; i < weights->parameter_count; i++) {
            const struct safetensors_entry *entry = weights_parameter(weights, i).entry;
            if (entry && dtype_is_quantised(entry->dtype))
                return 5e-2;
        }
        return 1e-2;
    }
    return dtype == DTYPE_BF16 ? 5e-2 : dtype == DTYPE_F16 ? 1e-2 : 1e-4;
}

/* True if the sum that a log prints is neither the sum of all our numbers nor, as in older
 * versions, the sum of the printed numbers. */
static bool sum_differs(const struct pairing *p, const struct array *ours)
{
    double all = 0, some = 0, size = 0;
    size_t cells = array_cells(ours);
    if (isnan(p->theirs->sum) || cells != p->theirs->entry.count)
        return false;
    for (size_t i = 0; i < cells; i++) {
        double x = (double)ours->data[i];
        if (isinf(x))
            return false;
        all += x;
        some += isnan(p->found.values[i]) ? 0 : x;
        size += fabs(x);
    }
    double error = p->tolerance * size + 1e-3;
    return fabs(all - p->theirs->sum) > error && fabs(some - p->theirs->sum) > error;
}

static int compare_order(const void *a, const void *b)
{
    const struct pairing *x = a, *y = b;
    if (x->order != y->order)
        return (x->order > y->order) - (x->order < y->order);
    return (x->index > y->index) - (x->index < y->index);
}

static bool agrees(const struct pairing *p)
{
    return p->found.difference.agrees && !p->sum_differs;
}

/* Align a tensor of the dump with our tensor of the site that its name means or, if the two do not
 * agree, of the other site that the name may mean. */
static int align_pair(struct divergence *d, struct pairing *p)
{
    struct array_match other = {0};
    const enum site sites[] = {p->own.site, p->own.other};
    const struct array *ours = array_of(&d->ours, &p->own, sites[0]);
    p->tolerance = tolerance_of(d, p->theirs);
    if (ours && align(&p->found, ours, &p->own, p->theirs, p->tolerance, d->arena, d->err))
        return -1;
    if (sites[1] != SITE_PASS_END && !(p->found.layout && p->found.difference.agrees)) {
        struct named_site own = p->own;
        const struct array *second = array_of(&d->ours, &p->own, sites[1]);
        own.site = sites[1];
        if (second && align(&other, second, &own, p->theirs, p->tolerance, d->arena, d->err))
            return -1;
        if (other.layout && (other.difference.agrees || !p->found.layout)) {
            p->own = own;
            p->found = other;
            ours = second;
        }
    }
    const struct sublayer *attention =
        site_id(p->own.site) == SITE_SCORES
            ? attention_of(d->config, site_branch(p->own.site), p->own.layer)
            : NULL;
    /* the other program may have scaled its queries: try that */
    if (attention && p->found.layout && !p->found.difference.agrees) {
        struct named_site scaled = p->own;
        scaled.factor = attention->score.scale;
        if (align(&other, ours, &scaled, p->theirs, p->tolerance, d->arena, d->err))
            return -1;
        p->found = other.difference.agrees ? other : p->found;
    }
    if (!p->found.layout)
        return 0;
    const struct array *rounded = array_of(&d->bf16, &p->own, p->own.site);
    struct difference bf16 = difference_of(ours, rounded->data, 1, false);
    p->bf16 = bf16.largest > 0 ? bf16.max / bf16.largest : 0;
    p->sum_differs = sum_differs(p, ours);
    p->order = site_order(d->config, p->own.site, p->own.layer);
    return 0;
}

static int compare_all(struct divergence *d)
{
    struct viewer shared;
    struct selection selection;
    const struct divergence_plan *plan = d->plan;
    struct capture_request asked = {&selection, plan->pair, 1, 0, &d->ours, NULL};
    if (select_all(&selection, d) || viewer_capture(plan->viewer, &asked, d->arena, d->err))
        return -1;
    int failed = viewer_share(&shared, plan->viewer, d->err);
    shared.model.weights.precision = PRECISION_BF16;
    asked.reports = &d->bf16;
    failed = failed || viewer_capture(&shared, &asked, d->arena, d->err);
    for (size_t i = 0; i < d->count && !failed; i++)
        failed = align_pair(d, &d->pairs[i]);
    viewer_release_shared(&shared);
    size_t kept = 0;
    for (size_t i = 0; i < d->count && !failed; i++) {
        if (d->pairs[i].found.layout)
            d->pairs[kept++] = d->pairs[i];
        else if (note_unknown(d, d->pairs[i].theirs->entry.name, " (other sizes)"))
            failed = -1;
    }
    if (failed)
        return -1;
    d->count = kept;
    qsort(d->pairs, d->count, sizeof *d->pairs, compare_order);
    d->first = d->count;
    for (size_t i = d->count; i-- > 0;) {
        d->first = agrees(&d->pairs[i]) ? d->first : i;
        d->agreeing += agrees(&d->pairs[i]);
    }
    return 0;
}

/* --- mistakes --------------------------------------------------------------------------------- */

struct suspect {
    size_t mistake;
    struct trial_range from;
    struct difference difference;
    size_t agreeing; /* number of sites that agree if our pass has the mistake */
    char words[TRIAL_WORDS_BYTES];
};

enum { CANDIDATES_MAX = 16 };

struct diagnosis {
    struct suspect list[CANDIDATES_MAX]; /* mistakes that explain the first difference, the best
                                          * first */
    size_t count, tried;
};

/* For each stack, find the first layer that may have the mistake: the layer of the last site before
 * the first difference, or the next layer if this site ends its layer. */
static struct trial_range range_of(const struct divergence *d)
{
    const struct pairing *first = &d->pairs[d->first];
    const enum site_branch branch = site_branch(first->own.site);
    struct trial_range from = {.branch = branch < ATTENTION_BRANCHES ? branch : BRANCH_TEXT};
    for (const struct pairing *p = d->pairs; p < first; p++) {
        enum site_branch stack =
            site_branch(p->own.site) == BRANCH_SOURCE ? BRANCH_SOURCE : BRANCH_TEXT;
        enum site id = site_id(p->own.site);
        bool ends = id == SITE_RESID_POST || id == site_id(site_of_output(d->config));
        if (site_row(p->own.site)->in_layer)
            from.first_layer[stack] = p->own.layer + ends;
        if (stack == BRANCH_SOURCE && branch != BRANCH_SOURCE)
            from.first_layer[BRANCH_SOURCE] = stack_of(d->config, BRANCH_SOURCE)->layers;
    }
    return from;
}

static void keep_candidate(struct diagnosis *found, const struct suspect *candidate)
{
    size_t at = num_min(found->count, CANDIDATES_MAX);
    for (; at > 0 && candidate->difference.nmse < found->list[at - 1].difference.nmse; at--)
        if (at < CANDIDATES_MAX)
            found->list[at] = found->list[at - 1];
    if (at < CANDIDATES_MAX)
        found->list[at] = *candidate;
    found->count = num_min(found->count + (at < CANDIDATES_MAX), CANDIDATES_MAX);
}

/* Run our pass with a mistake up to the first site that differs. Keep the mistake as a candidate if
 * the site then agrees, or nearly agrees. */
static int try_mistake(struct divergence *d, struct diagnosis *found, struct suspect candidate)
{
    const struct pairing *p = &d->pairs[d->first];
    const struct layers layers = {&p->own.layer, 1};
    const struct selection selection = {
        .sites = SITE_SET(p->own.site), .layers = layers, .encoder_layers = layers};
    const struct capture_request asked = {&selection, d->plan->pair, 1, 0, NULL, NULL};
    const struct difference *before = &p->found.difference;
    struct arena scratch = {0};
    struct trial trial;
    struct report report;
    struct err failure = {0};
    if (trial_begin(&trial, d->plan->viewer, &candidate.from, candidate.mistake, d->err))
        return -1;
    if (trial.is_possible) {
        found->tried++;
        if (!trial_capture(&report, &trial, asked, &scratch, &failure)) {
            const struct array *array = array_of(&report, &p->own, p->own.site);
            candidate.difference =
                difference_of(array, p->found.values, p->tolerance, p->theirs->is_printed);
            memcpy(candidate.words, trial.words, sizeof candidate.words);
            bool is_near = candidate.difference.masked_in_one == 0 &&
                           candidate.difference.nmse < before->nmse / 64;
            if (candidate.difference.agrees || (is_near && !before->masked_in_one))
                keep_candidate(found, &candidate);
        }
    }
    trial_end(&trial);
    arena_release(&scratch);
    if (failure.out_of_memory) /* other failures: the mistake is not possible here */
        err_adopt(d->err, &failure);
    return err_if(d->err->kind);
}

/* Count the sites that agree if our pass has a mistake. */
static int count_agreeing(struct divergence *d, struct suspect *candidate)
{
    struct selection selection;
    struct arena scratch = {0};
    struct trial trial;
    struct report report;
    if (select_all(&selection, d))
        return -1;
    const struct capture_request asked = {&selection, d->plan->pair, 1, 0, NULL, NULL};
    if (trial_begin(&trial, d->plan->viewer, &candidate->from, candidate->mistake, d->err))
        return -1;
    int failed = trial_capture(&report, &trial, asked, &scratch, d->err) || d->err->kind;
    for (size_t i = 0; i < d->count && !failed; i++) {
        const struct pairing *p = &d->pairs[i];
        const struct array *array = array_of(&report, &p->own, p->own.site);
        candidate->agreeing +=
            difference_of(array, p->found.values, p->tolerance, p->theirs->is_printed).agrees;
    }
    trial_end(&trial);
    arena_release(&scratch);
    return failed;
}

static int diagnose(struct divergence *d, struct diagnosis *found)
{
    struct trial_range from = range_of(d);
    const struct pairing *p = &d->pairs[d->first];
    const enum site_branch stack = site_branch(p->own.site) == BRANCH_SOURCE;
    for (int again = 0; again < 2 && !found->count; again++) {
        if (again && (!site_row(p->own.site)->in_layer || from.first_layer[stack] == p->own.layer))
            break;
        if (again)
            from.first_layer[stack] = p->own.layer;
        for (size_t i = 0; i < mistake_count(); i++) {
            if (try_mistake(d, found, (struct suspect){.mistake = i, .from = from}))
                return -1;
            progress_tell(d->plan->progress, i + 1, mistake_count());
        }
    }
    for (size_t i = 0; i < found->count; i++) {
        struct suspect *one = &found->list[i], alone = *one;
        if (count_agreeing(d, one))
            return -1;
        alone.from.alone = true;
        alone.from.first_layer[stack] = p->own.layer;
        if (!site_row(p->own.site)->in_layer || one->agreeing == d->count)
            continue;
        if (count_agreeing(d, &alone))
            return -1;
        if (alone.agreeing > one->agreeing) {
            *one = alone;
            snprintf(one->words + strlen(one->words), sizeof one->words - strlen(one->words),
                     ", in layer %zu alone", p->own.layer);
        }
    }
    for (size_t i = 1; i < found->count; i++) /* choose the mistake with which most sites agree; of
                                               * several, the first */
        if (found->list[i].agreeing > found->list[0].agreeing) {
            struct suspect best = found->list[i];
            memmove(found->list + 1, found->list, i * sizeof *found->list);
            found->list[0] = best;
        }
    return 0;
}

/* --- products --------------------------------------------------------------------------------- */

/* Products with a matrix: the site of the result, the matrix, the site of the input (0: the
 * sublayer's input), and the sites from which the input is made, which are looked at if the input
 * is not in the dump or does not agree. In models with the site `turned_from`, a norm or a rotation
 * comes between product and result. */
static const struct site_product {
    enum site out;
    int slot;
    enum site in, made_of[2], turned_from;
} products[] = {
    {SITE_Q_PRE, SLOT_Q},
    {SITE_K_PRE, SLOT_K},
    {SITE_Q, SLOT_Q, .turned_from = SITE_Q_PRE},
    {SITE_K, SLOT_K, .turned_from = SITE_K_PRE},
    {SITE_V, SLOT_V},
    {SITE_ATTN_OUT, SLOT_O, SITE_CONTEXT, {SITE_WEIGHTS, SITE_V}},
    {SITE_MLP_GATE, SLOT_GATE},
    {SITE_MLP_UP, SLOT_UP},
    {SITE_MLP_OUT, SLOT_DOWN, SITE_MLP_ACT, {SITE_MLP_UP, SITE_MLP_UP}},
    {SITE_LOGITS, SLOT_UNEMBED, SITE_LN_F},
};

/* True if a site is in the dump and all its tensors agree. */
static bool is_right(const struct divergence *d, enum site site, size_t layer)
{
    size_t found = 0, right = 0;
    for (const struct pairing *p = d->pairs; p < d->pairs + d->count; p++)
        if (p->own.site == site && (!site_row(site)->in_layer || p->own.layer == layer)) {
            found++;
            right += agrees(p);
        }
    return found && right == found;
}

/* Find the sublayer that computes a product in the layer of `p`; NULL: there is none, or a norm or
 * a rotation changes the product. */
static const struct sublayer *sublayer_with(const struct divergence *d, const struct pairing *p,
                                            const struct site_product *product)
{
    const enum site_branch branch = site_branch(p->own.site);
    const struct layer *layer =
        layer_of(d->config, branch == BRANCH_SOURCE ? BRANCH_SOURCE : BRANCH_TEXT, p->own.layer);
    const bool of_mlp = product->out >= SITE_MLP_GATE;
    const bool turns =
        product->turned_from && site_exists(d->config, SITE_OF(branch, product->turned_from));
    for (size_t i = 0; i < layer->count && !turns; i++) {
        const struct sublayer *s = &layer->sublayers[i];
        if (s->branch == branch && s->kind != SUBLAYER_MIX && (s->kind == SUBLAYER_MLP) == of_mlp)
            return s;
    }
    return NULL;
}

/* True if the input of a product is in the dump and agrees, or if everything from which the input
 * is made is in the dump and agrees. */
static bool reads_right(const struct divergence *d, const struct pairing *p,
                        const struct site_product *product)
{
    const enum site_branch branch = site_branch(p->own.site);
    const size_t layer = p->own.layer;
    if (!site_row(p->own.site)->in_layer)
        return is_right(d, product->in, 0);
    const struct sublayer *s = sublayer_with(d, p, product);
    const bool is_memory = s && s->kind == SUBLAYER_ATTEND_SOURCE &&
                           (product->slot == SLOT_K || product->slot == SLOT_V);
    if (!s || is_memory)
        return false;
    const enum site stream = s->kind == SUBLAYER_MLP ? SITE_RESID_MID : SITE_RESID_PRE;
    enum site in = product->in == SITE_CONTEXT ? context_out(&s->head)
                   : product->in               ? product->in
                   : s->at_input               ? s->at_input
                                               : stream;
    in = SITE_OF(product->in ? branch : sublayer_stream_branch(s, in), in);
    if (is_right(d, in, layer))
        return true;
    for (size_t i = 0; i < 2; i++)
        if (!product->made_of[i] || !is_right(d, SITE_OF(branch, product->made_of[i]), layer))
            return false;
    return s->kind != SUBLAYER_MLP || !s->mlp.gated ||
           is_right(d, SITE_OF(branch, SITE_MLP_GATE), layer);
}

/* Find the first product whose inputs agree and whose output does not, and return the name of its
 * matrix; NULL: there is no such product. */
static const char *find_product(const struct divergence *d)
{
    for (const struct pairing *p = d->pairs + d->first; p < d->pairs + d->count; p++)
        for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
            const bool in_layer = site_row(p->own.site)->in_layer;
            const int layer = in_layer ? (int)p->own.layer : -1;
            if (products[i].out != site_id(p->own.site) || agrees(p) ||
                !reads_right(d, p, &products[i]))
                continue;
            struct slot slot = slot_of((int)site_branch(p->own.site), products[i].slot, 0);
            slot.layer = (short)layer;
            const struct parameter_info info =
                weights_parameter_of(&d->plan->viewer->model.weights, slot);
            if (*info.name)
                return arena_text(d->arena, info.name, strlen(info.name), d->err);
        }
    return NULL;
}

/* --- the report ------------------------------------------------------------------------------- */

/* Add two facts over the tokens that both programs have: the KL divergence of the other program's
 * next-token distributions from ours, and the share of tokens after which both give the same token
 * the largest logit. */
static void compare_logits(const struct pairing *p, const struct array *ours, struct facts *facts)
{
    const size_t words = ours->columns.size;
    size_t count = 0, same = 0;
    double sum = 0;
    for (size_t row = 0; row < ours->rows.size; row++) {
        const float *x = ours->data + row * words, *y = p->found.values + row * words;
        struct likely best[2] = {{0}};
        bool whole = true;
        for (size_t i = 0; i < words; i++)
            whole = whole && isfinite(y[i]);
        if (!whole)
            continue;
        topk(&best[0], 1, x, words, 0);
        topk(&best[1], 1, y, words, 0);
        sum += logits_divergence(x, logsumexp(x, words), y, logsumexp(y, words), words);
        same += best[0].id == best[1].id;
        count++;
    }
    if (!count)
        return;
    facts_float(facts, "kl_nats", sum / (double)count);
    facts_float(facts, "same_best", (double)same / (double)count);
}

static void put_row(struct table_rows *rows, const struct divergence *d, const struct pairing *p)
{
    char name[SITE_NAME_BYTES];
    struct buf shape = {0};
    const struct difference *f = &p->found.difference;
    const char *site = site_tensor_name(name, p->own.site, (int)p->own.layer);
    site = arena_text(d->arena, site, strlen(site), d->err);
    const char *theirs = p->theirs->entry.name;
    if (p->theirs->op)
        theirs = arena_format(d->arena, d->err, "%s (%s)", theirs, p->theirs->op);
    for (size_t i = 0; i < p->theirs->entry.rank; i++)
        buf_format(&shape, "%s%zu", i ? ", " : "[", p->theirs->entry.shape[i]);
    buf_text(&shape, p->theirs->entry.rank ? "]" : "[]");
    bool is_first = p == d->pairs + d->first;
    rows_label(rows, "site", COLUMN_KEY, (struct label){site, site, site});
    rows_text(rows, "theirs", COLUMN_KEY, theirs);
    rows_text(rows, "shape", COLUMN_KEY, buf_keep(&shape, d->arena, d->err));
    rows_text(rows, "layout", COLUMN_KEY, p->found.layout);
    rows_float(rows, (struct column){"nmse", .digits = 4}, f->nmse);
    rows_title(rows, "NMSE");
    rows_float(rows, (struct column){"max_difference", "max |d|", .digits = 4}, f->max);
    rows_float(rows,
               (struct column){"relative", "max / largest", .flags = COLUMN_COLOURED, .digits = 4},
               f->largest > 0 ? f->max / f->largest : f->max);
    rows_float(rows, (struct column){"median", .digits = 4}, f->median);
    rows_float(rows, (struct column){"cosine", .digits = 4}, f->cosine);
    rows_float(rows, (struct column){"bf16", "our bf16", .digits = 4}, p->bf16);
    rows_integer(rows, "masked_in_one", COLUMN_DATA_ONLY, (long long)f->masked_in_one);
    bool of_sum = p->sum_differs && f->agrees;
    rows_text(rows, "note", 0,
              is_first    ? of_sum ? "<- first divergence: the sum" : "<- first divergence"
              : of_sum    ? "the sum differs"
              : agrees(p) ? NULL
                          : "differs");
    rows_title(rows, "");
    rows_next(rows);
}

static int make_tables(struct table tables[2], const struct divergence *d)
{
    enum { SHORT = 24, BEFORE = 6, AFTER = 3 };
    struct table_rows data = {.most = d->count, .arena = d->arena, .err = d->err};
    struct table_rows shown = {.most = d->count, .arena = d->arena, .err = d->err};
    bool whole = d->plan->full || d->count <= SHORT;
    size_t first = whole ? 0 : d->first > BEFORE ? d->first - BEFORE : 0;
    size_t end = whole ? d->count : num_min(d->first + AFTER, d->count);
    for (size_t i = 0; i < d->count; i++)
        put_row(&data, d, &d->pairs[i]);
    for (size_t i = first; i < end; i++)
        put_row(&shown, d, &d->pairs[i]);
    if (rows_finish(&tables[0], &data, "sites", "site") ||
        rows_finish(&tables[1], &shown, "shown", "site"))
        return -1;
    tables[0].flags = COLUMN_DATA_ONLY;
    tables[1].flags = COLUMN_TEXT_ONLY;
    return 0;
}

/* Write the lines below the table: the explanation of the first difference, and unknown names. */
static const char *write_note(const struct divergence *d, const struct diagnosis *found,
                              const char *matrix)
{
    struct buf note = {0};
    if (d->first < d->count && found->count) {
        const struct suspect *best = &found->list[0];
        buf_format(&note, "%s with: %s (NMSE %.2g)\n",
                   best->difference.agrees ? "fits" : "nearly fits", best->words,
                   best->difference.nmse);
        if (d->count > 1)
            buf_format(&note, "   then %zu of %zu tensors agree\n", best->agreeing, d->count);
        for (size_t i = 1; i < found->count; i++)
            if (found->list[i].agreeing == best->agreeing && found->list[i].difference.agrees)
                buf_format(&note, "or with: %s (NMSE %.2g)\n", found->list[i].words,
                           found->list[i].difference.nmse);
    } else if (d->first < d->count) {
        const struct difference *f = &d->pairs[d->first].found.difference;
        buf_format(&note, "none of %zu usual mistakes explains it", found->tried);
        if (matrix)
            buf_format(&note,
                       "\nThe inputs of this product agree, its output does not: look at the "
                       "matrix %s\n",
                       matrix);
        else
            buf_text(&note, ": save more tensors before it (q, k, v, weights, context, …)\n");
        if (f->cosine > 0.999999 && !f->masked_in_one && fabs(f->factor - 1) > 1e-3)
            buf_format(&note, "theirs is ours times %.4g\n", f->factor);
    }
    if (d->unknown_count) {
        buf_format(&note, "%zu names are not known: ", d->unknown_count);
        buf_bytes(&note, d->unknown.bytes, d->unknown.size);
        buf_text(&note, "\n");
    }
    buf_text(&note, "agreement: no difference above the tolerance times our largest number\n"
                    "median: over tokens, norm of the difference / norm of ours\n"
                    "our bf16: the same as max / largest, of our own pass in bf16");
    return buf_keep(&note, d->arena, d->err);
}

static int make_report(struct report *report, const char **where, struct divergence *d,
                       const struct diagnosis *found)
{
    char name[SITE_NAME_BYTES];
    struct facts *facts = facts_new(d->arena, d->err);
    struct table *tables = arena_alloc(d->arena, 2, sizeof *tables, d->err);
    const struct pairing *first = d->first < d->count ? &d->pairs[d->first] : NULL;
    struct buf about = {0};
    if (!facts || !tables || make_tables(tables, d))
        return -1;
    const char *matrix = first && !found->count ? find_product(d) : NULL;
    tables[1].note = write_note(d, found, matrix);
    *where = NULL;
    if (first) {
        site_tensor_name(name, first->own.site, (int)first->own.layer);
        *where = arena_text(d->arena, name, strlen(name), d->err);
    }
    facts_text(facts, "first_divergence", *where);
    facts_text(facts, "mistake", found->count ? found->list[0].words : NULL);
    facts_text(facts, "matrix", matrix);
    facts_integer(facts, "sites", (long long)d->count);
    facts_integer(facts, "agreeing", (long long)d->agreeing);
    facts_float(facts, "tolerance", d->count ? d->pairs[0].tolerance : d->plan->tolerance);
    facts_integer(facts, "unknown_names", (long long)d->unknown_count);
    buf_format(&about, "%zu of %zu tensors of the dump agree (tolerance %g)", d->agreeing, d->count,
               d->count ? d->pairs[0].tolerance : 0);
    for (size_t i = 0; i < d->count; i++)
        if (d->pairs[i].own.site == SITE_LOGITS && !d->pairs[i].theirs->is_printed) {
            compare_logits(&d->pairs[i], array_of(&d->ours, &d->pairs[i].own, SITE_LOGITS), facts);
            break;
        }
    const struct column *kl = table_column(&facts->table, "kl_nats");
    if (kl)
        buf_format(&about, " · logits: KL divergence %.3g nats, same best token %.4g %%",
                   column_float(kl, 0),
                   100 * column_float(table_column(&facts->table, "same_best"), 0));
    *report = (struct report){.model = d->plan->viewer->model.name,
                              .facts = &facts->table,
                              .tables = tables,
                              .table_count = 2,
                              .about = buf_keep(&about, d->arena, d->err)};
    return err_if(d->err->kind);
}

int divergence_make(struct report *report, const char **where, const struct divergence_plan *plan,
                    struct arena *arena, struct err *err)
{
    struct divergence d = {
        .plan = plan, .config = &plan->viewer->model.config, .arena = arena, .err = err};
    struct diagnosis *found = arena_alloc(arena, 1, sizeof *found, err);
    int failed = !found || find_pairs(&d) || compare_all(&d) ||
                 (d.first < d.count && diagnose(&d, found)) ||
                 make_report(report, where, &d, found);
    buf_release(&d.unknown);
    hash_table_release(&d.unknown_names);
    return err_if(failed);
}

void divergence_add_memory(struct memory *memory, const struct divergence_plan *plan)
{
    struct err err = {0};
    struct arena scratch = {0};
    struct selection selection;
    struct divergence d = {
        .plan = plan, .config = &plan->viewer->model.config, .arena = &scratch, .err = &err};
    if (!find_pairs(&d) && !select_all(&selection, &d)) {
        viewer_add_memory(memory, plan->viewer, &selection, plan->pair, CAPTURE_ALL);
        memory->held *= 3; /* for three passes: in float32, in bfloat16, and with a mistake */
    }
    for (size_t i = 0; i < plan->dump->count; i++)
        memory->held += 2 * sizeof(float) * (double)plan->dump->items[i].entry.count;
    buf_release(&d.unknown);
    hash_table_release(&d.unknown_names);
    arena_release(&scratch);
}
