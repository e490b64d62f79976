#include "open_models.h"

#include <string.h>

#include "../command.h"
#include "../output.h"
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
    if (provenance_add_model(&fresh->viewer.model, err)) {
        viewer_release(&fresh->viewer);
        return NULL;
    }
    fresh->any_length = any_length;
    viewer_set_precision(&fresh->viewer, precision);
    if (any_length && model_lift_context(&fresh->viewer.model, err)) {
        viewer_release(&fresh->viewer);
        return NULL;
    }
    fresh->readings[0] = fresh->viewer.tokenizer;
    return *place = fresh;
}

/* A wide model has use for many: its weights come from far; to a narrow one they would only be
 * memory. The widest decides for all: a round has jobs of any. */
size_t open_models_pass_tokens(const struct open_models *models)
{
    enum { MIN = 256, MAX = 1024, OF_CHANNEL = 2 };
    size_t most = MIN;
    for (const struct open_model *model = models->first; model; model = model->next) {
        size_t tokens = OF_CHANNEL * model->viewer.model.config.n_embd;
        if (tokens > most)
            most = tokens < MAX ? tokens : MAX;
    }
    return most;
}

void open_models_release(struct open_models *models)
{
    for (struct open_model *model = models->first; model; model = model->next) {
        model->viewer.tokenizer = model->readings[0];
        for (size_t i = 1; i < READINGS; i++)
            tokenizer_free(model->readings[i]);
        viewer_release(&model->viewer);
        arena_release(&model->edit_arena);
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

static int edit_anew(struct open_model *model, const struct options *options, const struct buf *key,
                     struct err *err)
{
    struct viewer *viewer = &model->viewer;
    model->edit_key = NULL;
    arena_clear(&model->edit_arena);
    if (edit_options_read(&model->edits, &options->edit, &viewer->model.config, &model->edit_arena,
                          err) ||
        edit_options_fill(&model->edits, options, viewer, err))
        return -1;
    model->edit_key = arena_text(&model->edit_arena, key->bytes, key->size, err);
    return model->edit_key ? 0 : -1;
}

int open_model_set(struct open_model *model, const struct options *options,
                   const struct mechanism *mechanism, struct err *err)
{
    struct viewer *viewer = &model->viewer;
    struct buf key = {0};
    viewer->edits = NULL;
    if (choose_reading(model, options, err) || viewer_set_mechanism(viewer, mechanism, err))
        return -1;
    if (!edit_options_are_given(&options->edit))
        return 0;
    for (size_t i = 0; i < option_count(); i++) /* all that values which edits take depend on */
        if (settings_compute(option_at(i))) {
            settings_value(&key, option_at(i), options);
            buf_char(&key, '\n');
        }
    int failed = buf_check(&key, err);
    bool same = !failed && model->edit_key && strcmp(model->edit_key, key.bytes) == 0;
    failed = failed || (!same && edit_anew(model, options, &key, err));
    viewer->edits = failed ? NULL : &model->edits.edits;
    buf_release(&key);
    return failed ? -1 : 0;
}

static int note_file(struct open_models *models, const char *path, struct err *err)
{
    struct texts *files = &models->edit_files;
    if (texts_have(files, path))
        return 0;
    const char *copy = arena_text(&models->arena, path, strlen(path), err);
    return copy && !texts_add(files, copy, &models->arena, err) ? 0 : -1;
}

int open_models_note_edits(struct open_models *models, const struct edit_list *list,
                           const struct edit_options *options, struct err *err)
{
    const char *reference = options->reference;
    const char *words = models->weights_edit ? NULL : edit_options_of_weights(list);
    if (words && !(models->weights_edit = arena_text(&models->arena, words, strlen(words), err)))
        return -1;
    for (size_t i = 0; i < list->edits.count; i++)
        if (list->wishes[i].file && note_file(models, list->wishes[i].file, err))
            return -1;
    bool is_file = reference && strcmp(reference, "-") != 0 && file_exists(reference);
    return is_file ? note_file(models, reference, err) : 0;
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
    model->viewer.reads_any_length = options->score.stride > 0;
    return viewer_read(&model->viewer, pair, &job->item.input, text ? &source : NULL, arena, err);
}
