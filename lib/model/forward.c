#include "model/forward.h"

#include "model/pass.h"

/* What leaves the last layer, normed where the model does that. */
static enum pass_state final_norm(struct pass *pass, struct matrix *y)
{
    struct norm norm;
    *y = pass->scratch.x;
    if (!pass->config->final_norm)
        return PASS_ON;
    if (weights_final_norm(pass->weights, pass->part == PART_SOURCE, &norm, pass->err))
        return PASS_FAILED;
    *y = pass->scratch.norm;
    pass_norm(pass, *y, pass->scratch.x, &norm);
    PASS_TRY(pass_check_rows(pass, SITE_LN_F, 0, *y));
    return tap_rows(pass, SITE_LN_F, 0, *y);
}

/* The layers of an encoder are told of before those of its decoder. */
static enum pass_state run_layers(struct pass *pass, size_t first)
{
    const struct config *c = pass->config;
    size_t before = pass->part == PART_SOURCE ? 0 : c->n_encoder_layer;
    for (size_t layer = first; layer < pass->layers; layer++) {
        PASS_TRY(block(pass, layer));
        progress_tell(pass->machine->progress, before + layer + 1, config_layers(c));
    }
    return PASS_ON;
}

/* Is there a source that is not in a cache, and of use for one or for anything that is watched? */
static bool needs_sources(const struct pass *pass)
{
    enum site first_look = pass->config->n_encoder_layer ? SITE_CROSS_K : SITE_K;
    return pass->batch->source_tokens &&
           (pass->batch->cached || watch_has_any(pass->tap->watch, PART_SOURCE) ||
            watch_from(pass->tap->watch, first_look, 0));
}

/* The encoder: a pass of its own over the sources. What comes out is what the sentences look at.
 * (Without an encoder that is the embedding: no layers, no norm.) */
static enum pass_state encode(struct pass *pass)
{
    struct pass sources = *pass;
    struct batch batch;
    if (!needs_sources(pass))
        return PASS_ON;
    sources.batch = &batch;
    sources.part = PART_SOURCE;
    sources.layers = pass->config->n_encoder_layer;
    sources.first_layer = pass->config->n_layer;
    sources.scratch = (struct scratch){0};
    if (batch_of_sources(&batch, pass->batch, pass->arena, pass->err) || pass_init(&sources))
        return PASS_FAILED;
    PASS_TRY(embed(&sources));
    PASS_TRY(run_layers(&sources, 0));
    return final_norm(&sources, &pass->scratch.source);
}

/* The decoder; GPT-2 is one. */
static enum pass_state decode(struct pass *pass, size_t first)
{
    struct pass cross;
    struct batch at_sources = batch_at_sources(pass->batch);
    struct matrix y;
    if (pass->config->n_encoder_layer) {
        if (pass_init_cross(&cross, pass, &at_sources))
            return PASS_FAILED;
        pass->cross = &cross;
    }
    PASS_TRY(run_layers(pass, first));
    PASS_TRY(final_norm(pass, &y));
    return unembed(pass, y);
}

static enum pass_state run_pass(struct pass *pass, const struct stream_start *start)
{
    PASS_TRY(start ? embed_from(pass, start->streams) : embed(pass));
    PASS_TRY(encode(pass));
    return decode(pass, start ? start->layer : 0);
}

int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err)
{
    struct pass pass = {
        .machine = run->machine,
        .config = run->config,
        .weights = run->weights,
        .batch = run->batch,
        .layers = run->config->n_layer,
        .tap = tap,
        .edits = run->edits && run->edits->count ? run->edits : NULL,
        .arena = arena,
        .err = err,
    };
    if (pass_init(&pass))
        return -1;
    bool failed = run_pass(&pass, run->start) == PASS_FAILED;
    pass_end_caches(&pass, !failed);
    return failed ? -1 : 0;
}
