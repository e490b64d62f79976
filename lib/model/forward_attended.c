#include "math/rows.h"
#include "model/forward.h"
#include "model/pass.h"

int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err)
{
    const size_t none = 0;
    struct span all = {0, rows->x.rows};
    struct batch batch = {
        .count = 1,
        .queries = &all,
        .keys = &all,
        .past = &none,
        .past_keys = &none,
        .tokens = all.count,
        .key_tokens = all.count,
    };
    struct watch watch;
    struct tap tap = {.watch = &watch};
    struct pass pass = {
        .machine = run->machine,
        .config = run->config,
        .weights = run->weights,
        .batch = &batch,
        .layers = run->config->n_layer,
        .tap = &tap,
        .attended = true,
        .edits = rows->token ? run->edits : NULL,
        .edit_token = rows->token,
        .arena = arena,
        .err = err,
    };
    if (watch_init(&watch, run->config, arena, err))
        return -1;
    watch_add(&watch, SITE_LOGITS, 0); /* no layer is cut short, and none announces anything */
    if (pass_memory_take(&pass, false) || pass_hold_rounded(&pass))
        return -1;
    struct scratch *s = &pass.scratch;
    if (rows->x.columns == s->x.columns)
        copy_rows(s->x, rows->x);
    copy_rows(s->context, rows->context);
    pass_edit_rows(&pass, SITE_CONTEXT, rows->layer, s->context);
    if (block(&pass, rows->layer) == PASS_FAILED)
        return -1;
    copy_rows(rows->x, s->x);
    return 0;
}
