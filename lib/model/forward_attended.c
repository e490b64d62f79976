#include "math/rows.h"
#include "model/forward.h"
#include "model/pass.h"

int forward_attended(const struct run *run, size_t layer, struct matrix x, struct matrix context,
                     struct arena *arena, struct err *err)
{
    struct span all = {0, x.rows};
    struct batch rows = {.count = 1, .queries = &all, .tokens = x.rows, .key_tokens = x.rows};
    bool side_by_side = run->config->kind == MODEL_ATTENTION && !run->config->out_proj;
    struct watch watch;
    struct tap tap = {.watch = &watch};
    struct pass pass = {
        .machine = run->machine,
        .config = run->config,
        .weights = run->weights,
        .batch = &rows,
        .layers = run->config->n_layer,
        .tap = &tap,
        .attended = true,
        .arena = arena,
        .err = err,
    };
    if (watch_init(&watch, run->config, arena, err))
        return -1;
    watch_add(&watch, SITE_LOGITS, 0); /* no layer is cut short, and none announces anything */
    if (pass_memory_take(&pass, false) || pass_hold_pairs(&pass))
        return -1;
    copy_rows(pass.scratch.x, x);
    copy_rows(pass.scratch.context, context);
    if (block(&pass, layer) == PASS_FAILED)
        return -1;
    copy_rows(x, side_by_side ? context : pass.scratch.x);
    return 0;
}
