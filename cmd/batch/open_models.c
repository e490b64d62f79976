#include "open_models.h"

#include <string.h>

#include "../command.h"
#include "../session.h"
#include "model/model.h"

static struct open_model **find(struct open_models *models, const char *name,
                                enum precision precision, bool any_length)
{
    struct open_model **place = &models->first;
    while (*place && (strcmp((*place)->viewer.model.name, name) != 0 ||
                      (*place)->viewer.model.weights.precision != precision ||
                      (*place)->any_length != any_length))
        place = &(*place)->next;
    return place;
}

struct open_model *open_models_get(struct open_models *models, const struct options *options,
                                   struct err *err)
{
    enum precision precision;
    bool any_length = options->input.any_length;
    const char *name = chosen_model(options->model.name);
    if (options_precision(&precision, &options->model, err))
        return NULL;
    struct open_model **place = find(models, name ? name : bundled_default, precision, any_length);
    if (*place)
        return *place;
    if (name) /* the option's text may not live as long */
        name = arena_text(&models->arena, name, strlen(name), err);
    struct open_model *fresh = arena_alloc(&models->arena, 1, sizeof *fresh, err);
    if (!fresh || err->kind || viewer_open(&fresh->viewer, name, models->threads, err))
        return NULL;
    fresh->any_length = any_length;
    if (viewer_set_precision(&fresh->viewer, precision, err) ||
        (any_length && model_lift_context(&fresh->viewer.model, err))) {
        viewer_release(&fresh->viewer);
        return NULL;
    }
    fresh->readings[0] = fresh->viewer.tokenizer;
    return *place = fresh;
}

void open_models_release(struct open_models *models)
{
    for (struct open_model *model = models->first; model; model = model->next) {
        model->viewer.tokenizer = model->readings[0];
        for (size_t i = 1; i < READINGS; i++)
            tokenizer_free(model->readings[i]);
        viewer_release(&model->viewer);
    }
    arena_release(&models->arena);
    *models = (struct open_models){0};
}

/* Let the viewer read texts as the options say. */
static int choose_reading(struct open_model *model, const struct options *options, struct err *err)
{
    size_t reading = (options->input.bos ? 1u : 0u) | (options->input.no_special ? 2u : 0u) |
                     (options->input.add_special ? 4u : 0u);
    struct tokenizer **tokenizer = &model->readings[reading];
    const struct folder *folder = &model->viewer.model.folder;
    if (!*tokenizer && model->readings[0] &&
        (tokenizer_open(tokenizer, folder, err) ||
         inputs_set_tokenizer(*tokenizer, folder, &options->input, err))) {
        tokenizer_free(*tokenizer);
        *tokenizer = NULL;
        return -1;
    }
    model->viewer.tokenizer = *tokenizer;
    return 0;
}

int open_model_read(struct open_model *model, const struct job *job, struct text_pair *pair,
                    struct arena *arena, struct err *err)
{
    const struct options *options = &job->item.options;
    const char *text = options->input.source;
    struct input source = {.text = text, .size = text ? strlen(text) : 0};
    if (inputs_check_source(&options->input, &model->viewer.model, err) ||
        choose_reading(model, options, err))
        return -1;
    return viewer_read(&model->viewer, pair, &job->item.input, text ? &source : NULL, arena, err);
}
