/* run_model.c: opens the model of a folder and runs a text of three tokens through all layers with
 * all tensors watched. */
#include "fuzz.h"

#include <string.h>

#include "math/machine.h"
#include "pass/forward.h"
#include "model/model.h"
#include "model/points.h"

enum { TOKENS = 3 };

static struct arena arena; /* reused by the next input */

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
    const struct model_point *end = points_end(run.config);
    for (const struct model_point *p = points_of(run.config); p < end; p++)
        watch_add(&watch, p->site, (size_t)p->layer);
    if (batch_init(&batch, run.config, &text, 1, &arena, &fuzz_err) ||
        forward(&run, &tap, &arena, &fuzz_err))
        fuzz_refused();
    else
        fuzz_check(count > 0, "something is announced");
}

void fuzz_model(const struct folder *folder)
{
    static struct machine machine;
    struct model model = {0};
    if (!machine.pool)
        fuzz_check(!machine_open(&machine, 1, &fuzz_err), "a machine");
    arena_clear(&arena);
    if (model_open_folder(&model, folder, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    go_through(&model, &machine);
    model_release(&model);
}

void fuzz_weights(const char *name, const char *bytes, size_t size)
{
    struct folder_file files[2] = {{"config.json"}, {name, bytes, size}};
    const struct folder *life = bundled_find("life");
    for (size_t i = 0; i < life->file_count; i++)
        if (strcmp(life->files[i].name, "config.json") == 0)
            files[0] = life->files[i];
    fuzz_model(&(struct folder){"life", files, 2});
}
