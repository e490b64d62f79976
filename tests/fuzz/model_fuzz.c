/* A config.json of any family. If the model is small, makes its weights and runs a text of three
 * tokens through all layers with all tensors watched. */
#include "fuzz.h"

#include "math/machine.h"
#include "model/forward.h"
#include "model/model.h"
#include "model/new_model.h"

enum { LARGEST = 256, LAYERS_MOST = 3, TOKENS = 3 };

static struct arena arena; /* reused by the next input */

static bool is_small(const struct config *config)
{
    const size_t sizes[] = {config->vocab_size, config->n_embd, config->n_positions,
                            config->n_head,     config->d_k,    config->d_v,
                            config->n_inner,    config->n_word};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > LARGEST)
            return false;
    return config->n_layer <= LAYERS_MOST && config->n_encoder_layer <= LAYERS_MOST &&
           config->position_offset <= LARGEST;
}

static void fill(const struct new_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        for (size_t at = 0; at < model->tensors[i].count; at++)
            model->tensors[i].data[at] = (float)((at * 7 + i) % 11) / 8 - 0.6f;
}

static int look(void *context, const struct announcement *seen, struct err *err)
{
    size_t *count = context;
    (void)err;
    fuzz_check(seen->values.rank > 0, "a tensor has axes");
    ++*count;
    return 0;
}

static void go_through(struct model *model, struct machine *machine)
{
    const uint32_t ids[TOKENS] = {0};
    const bool cross = model->config.cross;
    const struct text text = {ids, TOKENS, cross ? ids : NULL, cross ? TOKENS : 0, .cache = NULL};
    size_t count = 0;
    struct batch batch;
    struct watch watch;
    struct tap tap = {.watch = &watch, .sink = look, .context = &count};
    struct run run = {machine, &model->config, &model->weights, &batch, .edits = NULL};
    fuzz_check(!watch_init(&watch, run.config, &arena, &fuzz_err), "memory for a watch");
    for (int site = 0; site < SITE_COUNT; site++)
        for (size_t layer = 0; layer < watch.layer_count; layer++)
            if (site_is_in_layer(run.config, (enum site)site, layer))
                watch_add(&watch, (enum site)site, layer);
    if (batch_init(&batch, run.config, &text, 1, &arena, &fuzz_err) ||
        forward(&run, &tap, &arena, &fuzz_err))
        fuzz_refused();
    else
        fuzz_check(count > 0, "something is announced");
}

void fuzz_one(const char *bytes, size_t size)
{
    static struct machine machine;
    struct config config = {0};
    struct new_model made;
    struct model model = {0};
    if (!machine.pool)
        fuzz_check(!machine_open(&machine, 1, &fuzz_err), "a machine");
    if (config_parse(&config, bytes, size, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    if (!is_small(&config))
        return;
    arena_clear(&arena);
    if (new_model_open(&made, "made", bytes, size, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    fill(&made);
    if (model_open_folder(&model, &made.folder, &fuzz_err)) {
        fuzz_refused();
    } else {
        go_through(&model, &machine);
        model_release(&model);
    }
    new_model_release(&made);
}
