#include "small_models.h"

/* clang-format off */
const char small_gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 30, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "tie_word_embeddings": false});
const char small_self[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "n_kv_head": 2, "d_k": 5, "d_v": 4, "out_proj": true, "bias": true});
const char small_cross[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 3,
          "out_proj": true, "bias": true, "attention": "cross"});
const char small_bare[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 4, "projections": false});
const char small_encoder[] =
    JSON({"model_type": "transformer", "vocab_size": 40, "n_embd": 12, "n_encoder_layer": 2,
          "n_layer": 2, "n_head": 3, "n_inner": 16, "tie_word_embeddings": false});
/* clang-format on */

struct text small_text(const struct tiny_model *model)
{
    struct text text = {.ids = rig_ids(model, 0, LENGTH), .count = LENGTH};
    if (model->config.cross) {
        text.source_ids = rig_ids(model, 100, SOURCE);
        text.source_count = SOURCE;
    }
    return text;
}

int small_run(struct rig *rig, struct recording *seen, struct err *err)
{
    struct text text = small_text(rig->model);
    *seen = (struct recording){0};
    *err = (struct err){0};
    int failed = rig_run(rig, seen, &text, 1, err);
    recording_release(seen);
    return failed;
}
