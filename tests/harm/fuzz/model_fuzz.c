/* A config.json of any family. If the model is small, makes its weights and runs a text of three
 * tokens through all layers with all tensors watched. */
#include "fuzz.h"

#include "model/new_model.h"

enum { LARGEST = 256, LAYERS_MOST = 6 };

static bool is_small(const struct config *config)
{
    const struct mixture *mixture = &config->mixture;
    const struct mixer *mixer = &config->mixer;
    const size_t sizes[] = {config->vocab_size,
                            config->n_embd,
                            config->n_positions,
                            config->n_head,
                            config->d_k,
                            config->d_v,
                            config->n_inner,
                            config->n_word,
                            config->given,
                            config->given_rows,
                            config->laurel,
                            config->n_encoder_inner,
                            config->n_encoder_vocab,
                            config->latent_q,
                            config->latent_kv,
                            config->n_segments,
                            config->n_class,
                            mixture->experts,
                            mixture->inner,
                            mixture->shared_inner,
                            mixture->latent,
                            mixer->heads,
                            mixer->key_heads,
                            mixer->d_k,
                            mixer->d_v,
                            mixer->taps,
                            mixer->step_rank,
                            mixer->gate_rank};
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

void fuzz_one(const char *bytes, size_t size)
{
    struct config config = {0};
    struct new_model made;
    if (config_parse(&config, bytes, size, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    if (!is_small(&config))
        return;
    if (new_model_open(&made, "made", bytes, size, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    fill(&made);
    fuzz_model(&made.folder);
    new_model_release(&made);
}
