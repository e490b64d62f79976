/* steps_edited.c: steps whose values edits changed. Each is made of a pass without those edits, so
 * that its formula gives its numbers; then comes a step that shows what goes on.
 */
#include <string.h>

#include "explain/steps.h"

enum { SITES = 3 };

/* --- the sites of a step ---------------------------------------------------------------------- */

struct step_sites {
    enum site items[SITES];
    size_t count;
};

static void add_site(struct step_sites *sites, bool is_there, enum site site)
{
    if (is_there)
        sites->items[sites->count++] = site;
}

/* What a step gives that the next ones take. */
static struct step_sites sites_of(const struct trace *trace, const char *step)
{
    const struct config *c = trace->config;
    struct step_sites sites = {.count = 0};
    enum site own;
    bool input = strcmp(step, "input") == 0;
    if (input || strcmp(step, "embedding") == 0) {
        bool embeds = !input || !trace->embedding_norm.scale;
        add_site(&sites, embeds && trace->layer == 0, SITE_EMBEDDING);
        add_site(&sites, embeds, SITE_RESID_PRE);
        add_site(&sites, input && c->norm_first, SITE_LN_1);
    } else if (strcmp(step, "query") == 0 || strcmp(step, "query_norm") == 0) {
        add_site(&sites, step[5] || !trace->raw_q.values, trace->rotary ? SITE_Q_PRE : SITE_Q);
    } else if (strcmp(step, "keys") == 0 || strcmp(step, "key_norm") == 0) {
        add_site(&sites, step[3] == '_' || !trace->raw_k.values,
                 trace->rotary ? SITE_K_PRE : SITE_K);
    } else if (strcmp(step, "hidden") == 0) {
        add_site(&sites, true, SITE_MLP_GATE);
        add_site(&sites, true, SITE_MLP_UP);
    } else if (strcmp(step, "resid_post") == 0) {
        add_site(&sites, !c->stream_normed, SITE_RESID_POST);
    } else if (strcmp(step, "ln_2") == 0) {
        add_site(&sites, true, SITE_LN_2);
        add_site(&sites, c->stream_normed, SITE_RESID_POST);
    } else {
        static const struct {
            const char *step;
            enum site site;
        } others[] = {{"query_turn", SITE_Q},
                      {"key_turn", SITE_K},
                      {"values", SITE_V},
                      {"output", SITE_ATTN_OUT}};
        bool found = site_find(step, strlen(step), &own);
        for (size_t i = 0; i < sizeof others / sizeof *others && !found; i++)
            if ((found = strcmp(others[i].step, step) == 0))
                own = others[i].site;
        add_site(&sites, found, own);
    }
    return sites;
}

/* Whether an edit is of the query's own values; of keys, of any. */
static bool touches(const struct edit *edit, const struct trace *trace, enum site site)
{
    bool of_keys = site_rows[site].axes == AXES_GROUP_TOKEN_DIM;
    struct edit_block place = {
        .site = site_of(trace->part, site),
        .layer = trace->layer,
        .first_head = of_keys                ? trace->group
                      : site_has_heads(site) ? trace->head
                                             : 0,
        .row_places = of_keys ? trace->keys : report_queries(trace->report, trace->part)->count,
    };
    bool found = false;
    for (size_t row = 0; row < (of_keys ? trace->keys : 1) && !found; row++) {
        place.first_row = of_keys ? row : trace->query;
        found = edit_touches(edit, &place);
    }
    return found;
}

/* Append which edits changed a step; false: none did. */
static bool write_changes(struct buf *note, const struct trace *trace,
                          const struct step_sites *sites)
{
    const struct edits *edits = trace->viewer->edits;
    bool any = false;
    for (size_t i = 0; edits && i < edits->count; i++) {
        bool changes = false;
        for (size_t k = 0; k < sites->count; k++)
            changes |= touches(&edits->items[i], trace, sites->items[k]);
        if (changes && note)
            buf_format(note, "%s%s", any ? ", " : "Changed by ", edits->items[i].words);
        any |= changes;
    }
    return any;
}

bool edited_keys(const struct trace *trace)
{
    return write_changes(NULL, trace, &(struct step_sites){{SITE_K}, 1});
}

/* --- the pass without them -------------------------------------------------------------------- */

/* The edit in all its layers but one; false: there is no other. */
static bool leave_layer(struct edit *edit, const struct trace *trace, struct builder *builder)
{
    const struct config *c = trace->config;
    size_t layers = c->n_layer > c->n_encoder_layer ? c->n_layer : c->n_encoder_layer;
    struct edit_range *ranges = arena_alloc(builder->arena, layers, sizeof *ranges, builder->err);
    struct edit_places others = {ranges, 0};
    for (size_t layer = 0; ranges && layer < layers && site_rows[edit->site].in_layer; layer++)
        if (layer != trace->layer && edits_have(&(struct edits){edit, 1}, edit->site, layer))
            ranges[others.count++] = (struct edit_range){(ptrdiff_t)layer, (ptrdiff_t)layer};
    builder->failed |= !ranges;
    edit->layers = others;
    return others.count > 0;
}

static int run_without(struct trace *before, const struct edited_steps *steps,
                       const struct step_sites *sites, struct builder *builder)
{
    struct viewer *viewer = steps->viewer;
    const struct edits *edits = viewer->edits;
    struct edit *items = arena_alloc(builder->arena, edits->count, sizeof *items, builder->err);
    struct edits rest = {.items = items};
    for (size_t i = 0; items && i < edits->count; i++) {
        bool is_own = false;
        for (size_t k = 0; k < sites->count; k++) {
            enum site site = site_of(builder->trace->part, sites->items[k]);
            is_own |= edits_have(&(struct edits){&edits->items[i], 1}, site, builder->trace->layer);
        }
        items[rest.count] = edits->items[i];
        rest.count += !is_own || leave_layer(&items[rest.count], builder->trace, builder);
    }
    if (!items || builder->failed)
        return -1;
    viewer->edits = rest.count ? &rest : NULL;
    int failed =
        trace_run(before, viewer, steps->pair, steps->request, builder->arena, builder->err);
    viewer->edits = edits;
    return failed;
}

/* Queries share the passes. */
const struct trace *edited_before(struct edited_steps *steps, const char *step,
                                  struct builder *builder)
{
    const struct step_sites sites = sites_of(builder->trace, step);
    struct edited_step *own = steps->items;
    if (!write_changes(NULL, builder->trace, &sites))
        return NULL;
    while (own < steps->items + steps->count && strcmp(own->name, step) != 0)
        own++;
    if (own == steps->items + steps->count) {
        own->name = step;
        steps->count++;
        if (run_without(&own->trace, steps, &sites, builder)) {
            builder->failed = true;
            return NULL;
        }
        own->trace.keys_edited = builder->trace->keys_edited;
    }
    trace_set_query(&own->trace, builder->trace->query);
    return &own->trace;
}

/* --- what goes on ----------------------------------------------------------------------------- */

static const struct quantity quantity_edited = {.name = "edited", .symbol = "edited"};

/* Of each key, before and after. */
static void show_columns(struct builder *builder, const struct trace *before, enum site site)
{
    const struct quantity *quantity = site == SITE_SCORES    ? &quantity_score
                                      : site == SITE_SOFTMAX ? &quantity_softmax
                                      : site == SITE_MASKED  ? &quantity_masked
                                                             : &quantity_weight;
    builder_keys(builder);
    builder_column(builder, quantity, trace_row(before, site));
    builder_column(builder, &quantity_edited, trace_row(builder->trace, site));
}

static void show_keys(struct builder *builder, enum site site)
{
    const struct trace *trace = builder->trace;
    if (site == SITE_V) { /* with the weights that they get */
        step_values(builder);
        builder->step->formula_count = 0;
        return;
    }
    builder_keys(builder);
    builder_vectors(builder, site == SITE_K ? &quantity_k : &quantity_k_pre,
                    site == SITE_K ? trace->k : trace->k_pre, trace->config->d_k);
}

static const float *vector_of(const struct trace *trace, enum site site)
{
    return site == SITE_CONTEXT ? trace->context : trace_row(trace, site);
}

/* Vectors, before and after. */
static void show_vectors(struct builder *builder, const struct trace *before, const char *step,
                         const struct step_sites *sites)
{
    const struct trace *trace = builder->trace;
    struct named_vector rows[2 * SITES];
    size_t count = 0;
    size_t width = 0;
    for (size_t i = 0; i < sites->count; i++) {
        enum site site = sites->items[i];
        const float *values = vector_of(before, site);
        bool of_input = strcmp(step, "input") == 0 || strcmp(step, "embedding") == 0;
        const char *name = !of_input                            ? site_rows[site].name
                           : site != SITE_LN_1 && trace->stream ? "h"
                                                                : "x";
        if (!values)
            continue;
        width = trace_width(trace, site);
        rows[count++] = (struct named_vector){name, values};
        name = arena_format(builder->arena, builder->err, "%s, edited", name);
        builder->failed |= !name;
        rows[count++] = (struct named_vector){name, vector_of(trace, site)};
    }
    if (count && !builder->failed)
        builder_stack(builder, rows, count, width);
}

void edited_show(struct builder *builder, const struct trace *before, const char *step)
{
    const struct step_sites sites = sites_of(builder->trace, step);
    enum site site = sites.items[0];
    struct buf *note = builder_note(builder);
    write_changes(note, builder->trace, &sites);
    buf_text(note,
             site == SITE_LOGITS ? ": 'run --show logits' has what goes on." : ": this goes on.");
    if (site == SITE_LOGITS)
        return;
    if (site_rows[site].axes == AXES_HEAD_QUERY_KEY)
        show_columns(builder, before, site);
    else if (site_rows[site].axes == AXES_GROUP_TOKEN_DIM)
        show_keys(builder, site);
    else
        show_vectors(builder, before, step, &sites);
}
