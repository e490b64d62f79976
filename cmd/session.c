#include "session.h"

#include <string.h>

#include "command.h"
#include "model/mechanism.h"
#include "output.h"

/* --- the way a model attends ------------------------------------------------------------------ */

int mechanism_options_read(struct mechanism *mechanism, const struct mechanism_options *options,
                           struct err *err)
{
    *mechanism = (struct mechanism){
        .temperature = options->temperature == 1 ? 0 : (float)options->temperature,
        .dropout = (float)options->dropout,
        .seed = (uint64_t)options->seed,
        .renormalise = options->mask_after,
    };
    if ((float)options->temperature == 0) /* ranges that end before their end */
        return err_usage(err, "--attention-temperature: expected a number above 0, found %g",
                         options->temperature);
    if ((float)options->dropout == 1)
        return err_usage(err, "--dropout: expected a number below 1, found %g", options->dropout);
    if (options->attention && mechanism_set_attention(mechanism, options->attention, err))
        return -1;
    if (options->scale && mechanism_set_scale(mechanism, options->scale, err))
        return -1;
    return options->without ? mechanism_set_without(mechanism, options->without, err) : 0;
}

int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err)
{
    const char *item = options->attention;
    size_t most = 1;
    for (const char *at = item; *at; at++)
        most += *at == ',';
    *mechanisms = arena_alloc(arena, most, sizeof **mechanisms, err);
    *count = 0;
    for (size_t size = 0; *mechanisms && *count < most; item += size + 1) {
        struct mechanism *mechanism = &(*mechanisms)[(*count)++];
        size = strcspn(item, ",");
        const char *text = arena_text(arena, item, size, err);
        mechanism->seed = (uint64_t)options->seed;
        if (!text || mechanism_set_attention(mechanism, text, err))
            return -1;
    }
    return *mechanisms ? 0 : -1;
}

/* --- a model and its texts -------------------------------------------------------------------- */

int session_read_options(struct session *session, struct err *err)
{
    if (options_precision(&session->precision, &session->options->model, err))
        return -1;
    return mechanism_options_read(&session->mechanism, &session->options->mechanism, err);
}

int session_open(struct session *session, struct err *err)
{
    const struct options *options = session->options;
    struct viewer *viewer = &session->viewer;
    const char *name = session->model ? session->model : options->model.name;
    if (viewer_open(viewer, chosen_model(name), (size_t)options->model.threads, err) ||
        provenance_add_model(&viewer->model, err) ||
        (options->input.any_length && model_lift_context(&viewer->model, err)))
        return -1;
    print_note_of_model(&viewer->model);
    if (inputs_set_tokenizer(viewer->tokenizer, &viewer->model.folder, &options->input, err))
        return -1;
    viewer_set_precision(viewer, session->precision);
    print_note_of_tokenizer(viewer->tokenizer);
    if (options->input.ids && *viewer->why)
        print_note("%s: tokens are shown by their ids", viewer->why);
    if (options->verbose && *viewer->model.config.unread)
        print_note("'%s/config.json': a model of type \"%s\" has no use for %s",
                   viewer->model.folder.path, config_kind_name(&viewer->model.config),
                   viewer->model.config.unread);
    return 0;
}

int session_read(const struct session *session, struct text_pair *pair, size_t index,
                 struct arena *arena, struct err *err)
{
    const struct inputs *inputs = &session->inputs;
    const char *text = session->options->input.source;
    struct input source = {.text = text, .size = text ? strlen(text) : 0};
    const struct viewer *viewer = &session->viewer;
    if (!viewer_read(viewer, pair, inputs->count ? &inputs->items[index] : NULL,
                     text ? &source : NULL, arena, err) &&
        !edits_check_text(viewer->edits, &viewer->model.config, pair->sentence.count,
                          pair->source.count, err))
        return 0;
    return inputs->count ? inputs_blame(inputs, index, err) : -1;
}

void session_count_dropped(struct session *session, const struct text_pair *pair, size_t index)
{
    dropped_add(&session->dropped, &pair->sentence, index);
    if (index == 0) /* it is the same for all */
        dropped_add(&session->in_source, &pair->source, index);
}

void session_note_dropped(const struct session *session)
{
    struct buf place = {0};
    if (!session->inputs.whole && session->inputs.count)
        inputs_place(&place, &session->inputs, session->dropped.input);
    dropped_note(&session->dropped, place.bytes);
    dropped_note(&session->in_source, "the source");
    buf_release(&place);
}

void session_release(struct session *session)
{
    viewer_release(&session->viewer);
    inputs_release(&session->inputs);
    arena_release(&session->arena);
}

/* --- what is looked at ------------------------------------------------------------------------ */

int read_derivation(struct derivation *how, const struct select_options *options, bool keeps_first,
                    struct err *err)
{
    *how = (struct derivation){
        .words = options->words,
        .hide_first = options->hide_first && !keeps_first,
    };
    return options->mean ? derive_read_mean(how, options->mean, err) : 0;
}

const char *request_layer(const struct format *format, const struct select_options *options,
                          const struct derivation *how)
{
    if (options->layer)
        return options->layer;
    return format_layer(how->mean_of_layers ? NULL : format);
}

int request_make(struct request *request, const struct options *options,
                 const struct format *format, const struct viewer *viewer, struct arena *arena,
                 struct err *err)
{
    struct config config = viewer->model.config;
    struct selection *selection = &request->selection;
    const char *usual = format_show(format, config.n_encoder_layer > 0);
    bool is_page = format && format_is(format, "text");
    *request = (struct request){
        .chosen = !is_page || options->select.show || options->select.layer || options->select.head,
    };
    if (mechanism_options_read(&config.mechanism, &options->mechanism, err) ||
        mechanism_check(&config.mechanism, &config, err))
        return -1;
    request->mechanism = config.mechanism;
    if (read_derivation(&request->derivation, &options->select, format && format->can_show_all,
                        err))
        return -1;
    const char *layer = request_layer(format, &options->select, &request->derivation);
    if (selection_sites(selection, options->select.show ? options->select.show : usual, &config,
                        err) ||
        selection_layers(selection, layer, &config, arena, err) ||
        selection_heads(selection, options->select.head, &config, arena, err))
        return -1;
    return derive_check(&request->derivation, selection, viewer->tokenizer, err);
}
