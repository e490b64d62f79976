#include "model/forward.h"
#include "model/pass.h"

/* As the end of the pass does, of rows that are not its own. */
static int norm_last(struct pass *pass, struct matrix *y)
{
    struct norm norm;
    struct matrix normed = {NULL, y->rows, y->columns, y->columns};
    if (!pass->config->final_norm)
        return 0;
    normed.data = arena_room(pass->arena, y->rows * y->columns, sizeof *normed.data, pass->err);
    if (!normed.data || weights_final_norm(pass->weights, false, &norm, pass->err))
        return -1;
    pass_norm(pass, normed, *y, &norm);
    *y = normed;
    return 0;
}

int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err)
{
    struct pass pass = {
        .machine = run->machine,
        .config = run->config,
        .weights = run->weights,
        .arena = arena,
        .err = err,
    };
    if ((!normed && norm_last(&pass, &stream)) || pass_project_out(&pass, &stream))
        return -1;
    return pass_make_logits(&pass, logits, stream);
}

int forward_logits_blame(const struct run *run, struct err *err)
{
    return weights_check_finite(run->weights, -1, err)
               ? -1
               : err_set(err, "'logits': expected finite numbers, found infinity or nan");
}
